// The dual bound that the float32 messages imply, computed afresh in double precision from the caller's own numbers.
#pragma once

#include <algorithm>
#include <type_traits>
#include <vector>

#include "message_kernels.hpp"
#include "model.hpp"
#include "problem.hpp"

namespace neuralfactors {

inline double max_of_table(const float* t, int n_labels, const double* row, const double* column) {
  return kernels().max_of_table(t, n_labels, row, column);
}
inline double max_of_table(const double* t, int n_labels, const double* row, const double* column) {
  return kernels().max_of_table64(t, n_labels, row, column);
}

// An upper bound on every labelling's score, whatever the messages are; tight if they are those after a sweep in the
// given direction. Each node gives an equal share of its belief to the edges ahead, as the sweep did, and each edge
// contributes its largest entry under that reparametrisation.
template <class T>
double certified_bound(const Problem<T>& problem, const Model& m, bool forward) {
  const int n_labels = m.n_labels;
  std::vector<double> belief(n_labels), ahead_term(n_labels), here_term(n_labels);
  double bound = 0;
  auto add = [&](double* sum, const float* message) {
    for (int a = 0; a < n_labels; ++a) sum[a] += m.unit * message[a];
  };
  for (int i = 0; i < m.n_nodes; ++i) {
    const T* row = problem.row(m.node[i]);
    const int n_out = m.out_begin[i + 1] - m.out_begin[i], n_in = m.in_begin[i + 1] - m.in_begin[i];
    for (int a = 0; a < n_labels; ++a) belief[a] = row[a];
    for (int q = m.out_begin[i]; q < m.out_begin[i + 1]; ++q) add(belief.data(), m.message_to_earlier(q));
    for (int q = m.in_begin[i]; q < m.in_begin[i + 1]; ++q) add(belief.data(), m.message_to_later(q));
    const double top = *std::max_element(belief.begin(), belief.end());
    const double share = 1.0 / std::max({n_out, n_in, 1});
    bound += top;
    for (double& b : belief) b = share * (b - top);
    const int first = forward ? m.out_begin[i] : m.in_begin[i], last = forward ? m.out_begin[i + 1] : m.in_begin[i + 1];
    for (int q = first; q < last; ++q) {
      const int slot = forward ? q : m.out_slot[q];
      const float* to_earlier = m.message_to_earlier(slot);
      const float* to_later = m.message_to_later(m.in_slot[slot]);
      for (int a = 0; a < n_labels; ++a) {
        here_term[a] = belief[a] - m.unit * (forward ? to_earlier : to_later)[a];
        ahead_term[a] = -m.unit * (forward ? to_later : to_earlier)[a];
      }
      const bool rows_here = forward != (m.flipped[slot] != 0);
      bound += max_of_table(problem.table(m.edge[slot]), n_labels, (rows_here ? here_term : ahead_term).data(),
                            (rows_here ? ahead_term : here_term).data());
    }
  }
  return bound;
}

}  // namespace neuralfactors
