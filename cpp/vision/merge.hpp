// Merging neighbouring regions that look alike, until so many are left.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

namespace neuralfactors::vision {

/// A region while regions are merged.
struct Patch {
  double area;
  std::array<double, 3> colour;      // the mean over its pixels
  std::vector<std::int32_t> beside;  // some of them may have been merged since
  std::int32_t version = 0;          // how often it has grown
};

/// When to stop: few enough regions, or none left that may join without exceeding the largest area.
struct MergeLimits {
  std::int64_t n_regions;
  double largest;
  double least_contrast;  // added to every squared difference of colours: where all is flat, small regions go first
};

/// Merges the two neighbours whose union adds least to the squared deviations from the regions' mean colours (Ward's
/// rule), again and again.
class Merger {
 public:
  Merger(std::vector<Patch> patches, const MergeLimits& limits)
      : patches_(std::move(patches)), limits_(limits), root_(patches_.size()) {
    std::iota(root_.begin(), root_.end(), 0);
  }

  /// For every region the one that it has become part of.
  std::vector<std::int32_t> run() {
    auto left = static_cast<std::int64_t>(patches_.size());
    for (std::int32_t i = 0; i < left; ++i) {
      for (const std::int32_t j : patches_[i].beside) {
        if (i < j) offer(i, j);
      }
    }
    while (left > limits_.n_regions && !queue_.empty()) {
      const Offer best = queue_.top();
      queue_.pop();
      if (!stands(best)) continue;
      merge(best.i, best.j);
      --left;
    }
    std::vector<std::int32_t> found(patches_.size());
    for (std::size_t k = 0; k < found.size(); ++k) found[k] = root(static_cast<std::int32_t>(k));
    return found;
  }

 private:
  struct Offer {
    double cost;
    std::int32_t i, j, version_i, version_j;
    bool operator<(const Offer& other) const {  // the best is the greatest
      return std::tie(cost, i, j) > std::tie(other.cost, other.i, other.j);
    }
  };

  void offer(std::int32_t i, std::int32_t j) {
    const Patch &a = patches_[i], &b = patches_[j];
    if (a.area + b.area > limits_.largest) return;  // areas only grow
    double contrast = limits_.least_contrast;
    for (int k = 0; k < 3; ++k) contrast += (a.colour[k] - b.colour[k]) * (a.colour[k] - b.colour[k]);
    queue_.push({contrast * a.area * b.area / (a.area + b.area), i, j, a.version, b.version});
  }

  bool stands(const Offer& o) const {
    return root_[o.i] == o.i && root_[o.j] == o.j && patches_[o.i].version == o.version_i &&
           patches_[o.j].version == o.version_j;
  }

  void merge(std::int32_t i, std::int32_t j) {
    Patch &a = patches_[i], &b = patches_[j];
    const double total = a.area + b.area;
    for (int k = 0; k < 3; ++k) a.colour[k] = (a.colour[k] * a.area + b.colour[k] * b.area) / total;
    a.area = total;
    ++a.version;
    root_[j] = i;
    a.beside.insert(a.beside.end(), b.beside.begin(), b.beside.end());
    std::vector<std::int32_t>().swap(b.beside);
    for (std::int32_t& k : a.beside) k = root(k);
    std::sort(a.beside.begin(), a.beside.end());
    a.beside.erase(std::unique(a.beside.begin(), a.beside.end()), a.beside.end());
    a.beside.erase(std::remove(a.beside.begin(), a.beside.end(), i), a.beside.end());
    for (const std::int32_t k : a.beside) offer(i, k);
  }

  std::int32_t root(std::int32_t k) {
    while (root_[k] != k) k = root_[k] = root_[root_[k]];
    return k;
  }

  std::vector<Patch> patches_;
  MergeLimits limits_;
  std::vector<std::int32_t> root_;
  std::priority_queue<Offer> queue_;
};

}  // namespace neuralfactors::vision
