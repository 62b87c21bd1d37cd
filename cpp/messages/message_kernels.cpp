// Compiled once for each instruction set, NF_ISA naming the namespace. Includes nothing whose inline code could be
// shared with other translation units: that would leak instructions that the machine may not have.
#include "messages/message_kernels.hpp"

#include <math.h>

#include <cstddef>

#include "core/machine.hpp"
#include "messages/simd.hpp"

namespace neuralfactors {
namespace {

constexpr float kInfinity = INFINITY;

// A row that is worked on: in registers where its length is known, else in memory.
template <int NV>
struct Row {
  Float8 values[NV];
  explicit Row(float*) {
    for (Float8& x : values) x = fill(0);
  }
  Float8 operator[](int k) const { return values[k]; }
  void set(int k, Float8 x) { values[k] = x; }
};
template <>
struct Row<0> {
  float* values;
  explicit Row(float* scratch) : values(scratch) {}
  Float8 operator[](int k) const { return load(values + k * kLanes); }
  void set(int k, Float8 x) const { store(values + k * kLanes, x); }
};

// The kernels below are templates on the number NV of vectors in a row, so that accumulators stay in registers.
// NV = 0 stands for "read it at run time".
// They must be inlined: a call for every message costs a tenth of a sweep over few labels.

template <int NV, class Out>
NF_ALWAYS_INLINE void max_rows(const float* table, int n_rows, int row, int nv, const float* h, Out& out) {
  constexpr int kBlock = NV ? NV : 4;
  constexpr int kChains = kBlock <= 2 ? 4 : 2;  // independent maxima hide the latency of short rows
  for (int k0 = 0; k0 < nv; k0 += kBlock) {
    const int width = NV ? NV : (nv - k0 < kBlock ? nv - k0 : kBlock);
    Float8 best[kChains][kBlock];
    for (auto& chain : best)
      for (auto& b : chain) b = fill(-kInfinity);
    int a = 0;
    for (; a + kChains <= n_rows; a += kChains)
      for (int c = 0; c < kChains; ++c) {
        const Float8 ha = fill(h[a + c]);
        const float* r = table + static_cast<std::size_t>(a + c) * row + k0 * kLanes;
        for (int k = 0; k < width; ++k) best[c][k] = max(best[c][k], ha + load(r + k * kLanes));
      }
    for (; a < n_rows; ++a) {
      const Float8 ha = fill(h[a]);
      const float* r = table + static_cast<std::size_t>(a) * row + k0 * kLanes;
      for (int k = 0; k < width; ++k) best[0][k] = max(best[0][k], ha + load(r + k * kLanes));
    }
    for (int k = 0; k < width; ++k) {
      for (int c = 1; c < kChains; ++c) best[0][k] = max(best[0][k], best[c][k]);
      out.set(k0 + k, best[0][k]);
    }
  }
}

// Eight rows at a time; r[k] points to row k, the last row standing in for those behind it.
template <int NV, class Out>
NF_ALWAYS_INLINE void max_columns(const float* table, int n_rows, int row, int nv, const float* h, Out& out) {
  for (int a0 = 0; a0 < n_rows; a0 += kLanes) {
    const float* first = table + static_cast<std::size_t>(a0) * row;
    const float* last = table + static_cast<std::size_t>(n_rows - 1) * row;
    const float* r[kLanes];
    for (int k = 0; k < kLanes; ++k, first += row) r[k] = first < last ? first : last;
    Float8 best[kLanes];
    const Float8 h0 = load(h);
    for (int k = 0; k < kLanes; ++k) best[k] = h0 + load(r[k]);
    for (int q = 1; q < (NV ? NV : nv); ++q) {
      const Float8 hq = load(h + q * kLanes);
      for (int k = 0; k < kLanes; ++k) best[k] = max(best[k], hq + load(r[k] + q * kLanes));
    }
    out.set(a0 / kLanes, reduce_max_each(best));
  }
}

// `cap` is +inf where the last vector holds labels and -inf behind them.
template <class R>
float max_of(const R& row, int nv, Float8 cap) {
  Float8 m = min(row[nv - 1], cap);
  for (int k = 0; k + 1 < nv; ++k) m = max(m, row[k]);
  return reduce_max(m);
}

template <class R>
void accumulate(R& sum, const float* p, int nv) {
  for (int k = 0; k < nv; ++k) sum.set(k, sum[k] + load(p + k * kLanes));
}

inline int argmax(const float* p, int n) {
  int best = 0;
  for (int a = 1; a < n; ++a)
    if (p[a] > p[best]) best = a;
  return best;
}

// The edges of one direction of travel: "behind" have delivered their messages, "ahead" are still to be sent.
struct Direction {
  const int *behind_begin, *ahead_begin, *behind_node, *ahead_node, *ahead_slot;
  const float *from_behind, *from_ahead;
  float* to_ahead;
};

// Where rows and messages begin and how long they are, if all nodes have the same number of labels. If these fill whole
// vectors, as they do in models that labels have left, loops over them have lengths that the compiler knows.
template <int NV, bool Full = false>
struct Uniform {
  using NodeRow = Row<NV>;
  int nv, n_labels, step;
  Float8 last;  // +inf where the last vector of a row holds labels, -inf behind them

  explicit Uniform(const Sweep& s) : nv(s.width), n_labels(s.n_labels), step(s.table_row) {
    alignas(32) float lanes[kLanes];
    for (int k = 0; k < kLanes; ++k) lanes[k] = (nv - 1) * kLanes + k < n_labels ? kInfinity : -kInfinity;
    last = load(lanes);
  }
  int width(int) const { return NV ? NV : nv; }
  std::size_t row(int i) const { return static_cast<std::size_t>(i) * width(0) * kLanes; }
  std::size_t from_behind(int q) const { return row(q); }
  std::size_t from_ahead(int q) const { return row(q); }
  std::size_t to_ahead(int slot) const { return row(slot); }
  int count(int) const { return Full ? NV * kLanes : n_labels; }
  int table_row(int) const { return Full ? NV * kLanes : step; }
  Float8 cap(int) const { return last; }
  NF_ALWAYS_INLINE void over_rows(const float* table, int rows, int row_step, int, const float* h, Row<NV>& out) const {
    max_rows<NV>(table, rows, row_step, nv, h, out);
  }
  NF_ALWAYS_INLINE void over_columns(const float* table, int rows, int row_step, int, const float* h,
                                     Row<NV>& out) const {
    max_columns<NV>(table, rows, row_step, nv, h, out);
  }
};

void max_rows_any(const float* table, int n_rows, int row, int nv, const float* h, Row<0>& out);
void max_columns_any(const float* table, int n_rows, int row, int nv, const float* h, Row<0>& out);

// The same where each node has a number of labels of its own.
struct Ragged {
  using NodeRow = Row<0>;
  const Sweep& s;
  const std::size_t *behind, *ahead, *to;
  alignas(32) float last[kLanes][kLanes];  // by the number of labels modulo kLanes

  Ragged(const Sweep& sweep, bool forward)
      : s(sweep),
        behind(forward ? s.later_begin : s.earlier_begin),
        ahead(forward ? s.earlier_begin : s.later_begin),
        to(behind) {
    for (int count = 0; count < kLanes; ++count)
      for (int k = 0; k < kLanes; ++k) last[count][k] = count == 0 || k < count ? kInfinity : -kInfinity;
  }
  std::size_t row(int i) const { return s.row_begin[i]; }
  std::size_t from_behind(int q) const { return behind[q]; }
  std::size_t from_ahead(int q) const { return ahead[q]; }
  std::size_t to_ahead(int slot) const { return to[slot]; }
  int count(int i) const { return s.count[i]; }
  int width(int i) const { return (s.count[i] + kLanes - 1) / kLanes; }
  int table_row(int slot) const { return s.table_rows[slot]; }
  Float8 cap(int i) const { return load(last[s.count[i] % kLanes]); }
  void over_rows(const float* table, int rows, int row_step, int nv, const float* h, Row<0>& out) const {
    max_rows_any(table, rows, row_step, nv, h, out);
  }
  void over_columns(const float* table, int rows, int row_step, int nv, const float* h, Row<0>& out) const {
    max_columns_any(table, rows, row_step, nv, h, out);
  }
};

template <class Layout>
double sweep(const Sweep& s, const SweepOptions& o, const Layout& layout) {
  const Direction d =
      o.forward
          ? Direction{s.in_begin, s.out_begin, s.earlier, s.later, s.in_slot, s.to_later, s.to_earlier, s.to_later}
          : Direction{s.out_begin, s.in_begin, s.later, s.earlier, s.out_slot, s.to_earlier, s.to_later, s.to_earlier};
  typename Layout::NodeRow theta(s.scratch), message(s.scratch + s.stride);
  float *h = s.scratch + 2 * s.stride, *sums = h + s.stride;
  Row<0> rounded(sums);
  const Float8 keep = fill(o.damping), take = fill(1 - o.damping);
  double bound = 0;
  for (int step = 0; step < s.n_nodes; ++step) {
    const int i = o.forward ? step : s.n_nodes - 1 - step;
    const int n_labels = layout.count(i), nv = layout.width(i);
    const float* unary = s.unary + layout.row(i);
    for (int k = 0; k < nv; ++k) theta.set(k, load(unary + k * kLanes));
    for (int q = d.ahead_begin[i]; q < d.ahead_begin[i + 1]; ++q)
      accumulate(theta, d.from_ahead + layout.from_ahead(q), nv);
    if (o.round) {  // best label given the labels behind and the messages from ahead
      for (int k = 0; k < nv; ++k) rounded.set(k, theta[k]);
      for (int q = d.behind_begin[i]; q < d.behind_begin[i + 1]; ++q) {
        const int slot = o.forward ? s.out_slot[q] : q, label = s.labels[d.behind_node[q]];
        const std::size_t row = layout.table_row(slot);
        if ((s.flipped[slot] != 0) != o.forward) {
          accumulate(rounded, s.table[slot] + static_cast<std::size_t>(label) * row, nv);
        } else {
          const float* column = s.table[slot] + label;
          for (int a = 0; a < n_labels; ++a) sums[a] += column[static_cast<std::size_t>(a) * row];
        }
      }
      s.labels[i] = argmax(sums, n_labels);
    }
    for (int q = d.behind_begin[i]; q < d.behind_begin[i + 1]; ++q)
      accumulate(theta, d.from_behind + layout.from_behind(q), nv);
    // Messages do not wait for the maximum: it would be a part of every `best`.
    const float top = max_of(theta, nv, layout.cap(i)), share = s.weight[i];
    const double given = static_cast<double>(share) * top;
    bound += top;
    if (s.belief)
      for (int k = 0; k < nv; ++k) store(s.belief + layout.row(i) + k * kLanes, theta[k] - fill(top));
    for (int k = 0; k < nv; ++k) theta.set(k, fill(share) * theta[k]);
    for (int q = d.ahead_begin[i]; q < d.ahead_begin[i + 1]; ++q) {
      const float* from = d.from_ahead + layout.from_ahead(q);
      for (int k = 0; k < nv; ++k) store(h + k * kLanes, theta[k] - load(from + k * kLanes));
      const int slot = o.forward ? q : s.out_slot[q], j = d.ahead_node[q], there = layout.width(j);
      if ((s.flipped[slot] != 0) != o.forward)
        layout.over_rows(s.table[slot], n_labels, layout.table_row(slot), there, h, message);
      else
        layout.over_columns(s.table[slot], layout.count(j), layout.table_row(slot), nv, h, message);
      const float best = max_of(message, there, layout.cap(j));
      bound += best - given;
      const Float8 level = fill(best);
      float* to = d.to_ahead + layout.to_ahead(d.ahead_slot[q]);
      if (o.damping > 0) {
        for (int k = 0; k < there; ++k)
          store(to + k * kLanes, take * (message[k] - level) + keep * load(to + k * kLanes));
      } else {
        for (int k = 0; k < there; ++k) store(to + k * kLanes, message[k] - level);
      }
    }
  }
  return bound;
}

template <int NV>
struct Width {
  static constexpr int value = NV;
};

// f(Width<nv>) for the widths that are compiled, f(Width<0>) for the others.
template <class F>
auto with_width(int nv, F f) {
  switch (nv) {
    case 1:
      return f(Width<1>());
    case 2:
      return f(Width<2>());
    case 3:
      return f(Width<3>());
    case 4:
      return f(Width<4>());
    case 5:
      return f(Width<5>());
    case 6:
      return f(Width<6>());
    default:
      return f(Width<0>());
  }
}

double sweep_any(const Sweep& s, const SweepOptions& o) {
  if (s.width == 0) return sweep(s, o, Ragged(s, o.forward));
  const bool full = s.n_labels == s.stride && s.table_row == s.stride;
  return with_width(s.width, [&](auto width) {
    constexpr int kWidth = decltype(width)::value;
    return full ? sweep(s, o, Uniform<kWidth, kWidth != 0>(s)) : sweep(s, o, Uniform<kWidth>(s));
  });
}

void max_rows_any(const float* table, int n_rows, int row, int nv, const float* h, Row<0>& out) {
  with_width(nv, [&](auto width) { max_rows<decltype(width)::value>(table, n_rows, row, nv, h, out); });
}

void max_columns_any(const float* table, int n_rows, int row, int nv, const float* h, Row<0>& out) {
  with_width(nv, [&](auto width) { max_columns<decltype(width)::value>(table, n_rows, row, nv, h, out); });
}

template <class T>
double max_of_table(const T* table, int n_rows, int n_columns, const double* row_term, const double* column_term) {
  constexpr int kBlock = 24;
  double best = -kInfinity;
  for (int b0 = 0; b0 < n_columns; b0 += kBlock) {
    const int width = n_columns - b0 < kBlock ? n_columns - b0 : kBlock;
    double column[kBlock];
    for (double& c : column) c = -kInfinity;
    for (int a = 0; a < n_rows; ++a) {
      const T* r = table + static_cast<std::size_t>(a) * n_columns + b0;
      const double term = row_term[a];
      for (int b = 0; b < width; ++b) {
        const double x = term + r[b];
        column[b] = x > column[b] ? x : column[b];
      }
    }
    for (int b = 0; b < width; ++b) {
      const double x = column[b] + column_term[b0 + b];
      best = x > best ? x : best;
    }
  }
  return best;
}

// A few columns, less than fill a vector.
template <class T>
double maxima_of_few(const T* table, int n_rows, int n_columns, const double* row_term, const double* column_term,
                     double* by_row, double* by_column) {
  double best = -kInfinity;
  for (int b = 0; b < n_columns; ++b) by_column[b] = -kInfinity;
  for (int a = 0; a < n_rows; ++a, table += n_columns) {
    double top = -kInfinity;
    for (int b = 0; b < n_columns; ++b) {
      const double x = row_term[a] + table[b] + column_term[b];
      by_column[b] = x > by_column[b] ? x : by_column[b];
      top = x > top ? x : top;
    }
    by_row[a] = top;
    best = top > best ? top : best;
  }
  return best;
}

template <class T>
double maxima_of_table(const T* table, int n_rows, int n_columns, const double* row_term, const double* column_term,
                       double* by_row, double* by_column) {
  constexpr int kBlock = 64;  // columns whose terms and maxima stay in the nearest cache, in whole vectors
  if (n_columns < kLanes) return maxima_of_few(table, n_rows, n_columns, row_term, column_term, by_row, by_column);
  const T* end = table + static_cast<std::size_t>(n_rows) * n_columns;
  double best = -kInfinity;
  for (int a = 0; a < n_rows; ++a) by_row[a] = -kInfinity;
  for (int b0 = 0; b0 < n_columns; b0 += kBlock) {
    const int width = n_columns - b0 < kBlock ? n_columns - b0 : kBlock;
    const int padded = (width + kLanes - 1) / kLanes * kLanes;
    double term[kBlock], column[kBlock];
    for (int b = 0; b < padded; ++b) {
      term[b] = b < width ? column_term[b0 + b] : -kInfinity;
      column[b] = -kInfinity;
    }
    T last[kBlock] = {};  // a row at the end of the table, behind which nothing may be read
    const T* row = table + b0;
    for (int a = 0; a < n_rows; ++a, row += n_columns) {
      const bool inside = end - row >= padded;
      for (int b = 0; b < width && !inside; ++b) last[b] = row[b];
      const T* r = inside ? row : last;
      const double own = row_term[a];
      double top = by_row[a];
#pragma omp simd reduction(max : top)
      for (int b = 0; b < padded; ++b) {
        const double x = own + r[b] + term[b];
        column[b] = x > column[b] ? x : column[b];
        top = x > top ? x : top;
      }
      by_row[a] = top;
    }
    for (int b = 0; b < width; ++b) {
      by_column[b0 + b] = column[b];
      best = column[b] > best ? column[b] : best;
    }
  }
  return best;
}

Spread spread(const float* values, std::size_t n) {
  constexpr int kChains = 4;
  Float8 low[kChains], high[kChains], sum[kChains];
  for (int c = 0; c < kChains; ++c) {
    low[c] = fill(kInfinity);
    high[c] = fill(-kInfinity);
    sum[c] = fill(0);
  }
  std::size_t k = 0;
  for (; k + kChains * kLanes <= n; k += kChains * kLanes)
    for (int c = 0; c < kChains; ++c) {
      const Float8 x = load(values + k + c * kLanes);
      low[c] = min(low[c], x);
      high[c] = max(high[c], x);
      sum[c] = sum[c] + x;
    }
  for (int c = 1; c < kChains; ++c) {
    low[0] = min(low[0], low[c]);
    high[0] = max(high[0], high[c]);
    sum[0] = sum[0] + sum[c];
  }
  float lane[kLanes];
  store(lane, sum[0]);
  Spread r{-reduce_max(fill(0) - low[0]), reduce_max(high[0]), 0};
  for (float x : lane) r.sum += x;
  for (; k < n; ++k) {
    r.min = values[k] < r.min ? values[k] : r.min;
    r.max = values[k] > r.max ? values[k] : r.max;
    r.sum += values[k];
  }
  return r;
}

}  // namespace

namespace NF_ISA {
const Kernels kernels{
    sweep_any, max_of_table<float>, max_of_table<double>, maxima_of_table<float>, maxima_of_table<double>, spread};
}

}  // namespace neuralfactors
