// The labels of each node that are worth searching, chosen by their beliefs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <vector>

#include "messages/packed_model.hpp"

namespace neuralfactors {

// Labels to choose from, node by node (by position); the first of each node is its present one.
struct Candidates {
  std::vector<int> begin;  // (V + 1)
  std::vector<int> label;

  int size(int i) const { return begin[i + 1] - begin[i]; }
  int present(int i) const { return label[begin[i]]; }
};

// The best few of a sequence of labels, best first; the earlier of equals.
class Shortlist {
 public:
  explicit Shortlist(int capacity) : label_(capacity), belief_(capacity) {}

  void clear() { size_ = 0; }
  int size() const { return size_; }
  int operator[](int k) const { return label_[k]; }

  // Returns false if a label had to be left out.
  bool add(int label, float belief) {
    const int capacity = static_cast<int>(label_.size());
    if (size_ == capacity && (capacity == 0 || !(belief > belief_[size_ - 1]))) return false;
    const bool room = size_ < capacity;
    int k = room ? size_++ : size_ - 1;
    for (; k > 0 && belief > belief_[k - 1]; --k) {
      label_[k] = label_[k - 1];
      belief_[k] = belief_[k - 1];
    }
    label_[k] = label;
    belief_[k] = belief;
    return room;
  }

 private:
  std::vector<int> label_;
  std::vector<float> belief_;
  int size_ = 0;
};

class CandidateChooser {
 public:
  struct Limits {
    double all_per_node;   // if no more than this many labels on average qualify, all are taken
    double best_per_node;  // else this many of the best, or none at all if it is 0
    int of_one_node;
  };

  // The labels in `present` and those whose belief is at least `floor`. Returns whether none had to be left out.
  bool choose(const Model& m, const std::vector<float>& belief, const std::vector<int>& present, float floor,
              const Limits& limits, Candidates& out) {
    const std::size_t all = slots(limits.all_per_node, m.n_nodes);
    const bool only_all = limits.best_per_node == 0;
    collect(m, belief, present, floor, only_all ? all : std::numeric_limits<std::size_t>::max());
    bool complete = true;
    std::size_t ties = beliefs_.size();  // labels just at the floor that may be taken
    if (beliefs_.size() > all) {
      if (only_all) return false;
      complete = false;
      const std::size_t room = std::min(slots(limits.best_per_node, m.n_nodes), beliefs_.size() - 1);
      const auto last = beliefs_.begin() + static_cast<std::ptrdiff_t>(room);
      std::nth_element(beliefs_.begin(), last, beliefs_.end(), std::greater<float>());
      floor = *last;
      ties = room - static_cast<std::size_t>(std::count_if(beliefs_.begin(), last, [&](float b) { return b > floor; }));
    }
    Shortlist best(limits.of_one_node - 1);
    out.begin.assign(1, 0);
    out.label.clear();
    for (int i = 0; i < m.n_nodes; ++i) {
      best.clear();
      const float* b = belief.data() + m.begin[i];
      for (int a = 0; a < m.count[i]; ++a) {
        if (b[a] < floor || a == present[i]) continue;
        if (b[a] == floor && ties == 0) continue;
        ties -= b[a] == floor;
        complete &= best.add(a, b[a]);
      }
      out.label.push_back(present[i]);
      for (int k = 0; k < best.size(); ++k) out.label.push_back(best[k]);
      out.begin.push_back(static_cast<int>(out.label.size()));
    }
    return complete;
  }

  // The labels of highest belief, at most n of each node, in ascending order.
  void best_of_each(const Model& m, const std::vector<float>& belief, int n, std::vector<int>& first,
                    std::vector<int>& labels) {
    first.assign(1, 0);
    labels.clear();
    for (int i = 0; i < m.n_nodes; ++i) {
      const float* b = belief.data() + m.begin[i];
      for (int a = 0; a < m.count[i]; ++a)
        if (rank(b, m.count[i], a) < n) labels.push_back(a);
      first.push_back(static_cast<int>(labels.size()));
    }
  }

 private:
  std::vector<float> beliefs_;

  // How many labels come before one. With all of them that is as much work as one table, in loops without branches.
  static int rank(const float* belief, int count, int label) {
    const float own = belief[label];
    int before = 0;
    for (int a = 0; a < label; ++a) before += belief[a] >= own;
    for (int a = label + 1; a < count; ++a) before += belief[a] > own;
    return before;
  }

  static std::size_t slots(double per_node, int n_nodes) { return static_cast<std::size_t>(per_node * n_nodes) + 8; }

  // Ends early with more than `most`.
  void collect(const Model& m, const std::vector<float>& belief, const std::vector<int>& present, float floor,
               std::size_t most) {
    beliefs_.clear();
    for (int i = 0; i < m.n_nodes && beliefs_.size() <= most; ++i) {
      const float* b = belief.data() + m.begin[i];
      for (int a = 0; a < m.count[i]; ++a)
        if (b[a] >= floor && a != present[i]) beliefs_.push_back(b[a]);
    }
  }
};

}  // namespace neuralfactors
