// The inner loops, compiled once for each instruction set and chosen when the module is loaded.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/machine.hpp"

namespace neuralfactors {

constexpr int kLanes = 8;  // rows of labels are padded to a multiple of this

// What a sweep reads and writes. Nodes are numbered in sweep order; an edge goes from its earlier to its later end and
// has a slot in two orders: `out`, sorted by the earlier end, and `in`, sorted by the later one. The labels of a node
// are padded to a multiple of kLanes; where all nodes have equally many, `width`, `n_labels` and `table_row` say so,
// and the arrays behind them are not read.
struct Sweep {
  int n_nodes = 0;
  int stride = 0;                              // of the longest row
  int width = 0;                               // vectors in every row; 0 where rows differ in length
  int n_labels = 0;                            // of every node
  int table_row = 0;                           // floats from one row of a table to the next
  const int* count = nullptr;                  // (V) labels of each node
  const std::size_t* row_begin = nullptr;      // (V) where its row begins in `unary` and `belief`
  const std::size_t* earlier_begin = nullptr;  // (E) by out slot, where the message begins in `to_earlier`
  const std::size_t* later_begin = nullptr;    // (E) by in slot, where it begins in `to_later`
  const int* table_rows = nullptr;             // (E) by out slot, floats from one row of the table to the next
  const float* unary = nullptr;                // rows of the nodes; padding is -inf
  const float* const* table = nullptr;         // (E) by out slot; whole vectors of a row may be read
  const std::uint8_t* flipped = nullptr;       // (E) by out slot: rows are the labels of the later end
  const int* out_begin = nullptr;              // (V + 1)
  const int* in_begin = nullptr;               // (V + 1)
  const int* in_slot = nullptr;                // (E) by out slot
  const int* out_slot = nullptr;               // (E) by in slot
  const int* later = nullptr;                  // (E) by out slot
  const int* earlier = nullptr;                // (E) by in slot
  const float* weight = nullptr;               // (V) share of a node's belief that each edge ahead of it receives
  float* to_earlier = nullptr;                 // messages by out slot
  float* to_later = nullptr;                   // messages by in slot
  int* labels = nullptr;                       // (V) labelling made on the way, when rounding
  float* belief = nullptr;                     // unary + messages, maximum 0, before a node sends; may be null
  float* scratch = nullptr;                    // (4, stride)
};

struct SweepOptions {
  bool forward = true;
  bool round = false;
  float damping = 0;  // share of the old message that is kept
};

struct Spread {
  float min, max, sum;
};

struct Kernels {
  // One pass of sequential message passing; returns the dual bound that holds after it (if the weights are TRW-S's).
  double (*sweep)(const Sweep&, const SweepOptions&);
  // max_ab table[a, b] + row_term[a] + column_term[b] in double precision.
  double (*max_of_table)(const float* table, int n_rows, int n_columns, const double* row_term,
                         const double* column_term);
  double (*max_of_table64)(const double* table, int n_rows, int n_columns, const double* row_term,
                           const double* column_term);
  // The same, and the maxima with each row and with each column.
  double (*maxima_of_table)(const float* table, int n_rows, int n_columns, const double* row_term,
                            const double* column_term, double* by_row, double* by_column);
  double (*maxima_of_table64)(const double* table, int n_rows, int n_columns, const double* row_term,
                              const double* column_term, double* by_row, double* by_column);
  // Minimum, maximum and sum of n floats; a NaN or an infinity anywhere makes the sum not finite.
  Spread (*spread)(const float* values, std::size_t n);
};

namespace baseline {
extern const Kernels kernels;
}
namespace avx2 {
extern const Kernels kernels;
}

// The kernels for the machine this runs on.
inline const Kernels& kernels() {
#if defined(NF_HAVE_AVX2)
  if (has_avx2()) return avx2::kernels;
#endif
  return baseline::kernels;
}

}  // namespace neuralfactors
