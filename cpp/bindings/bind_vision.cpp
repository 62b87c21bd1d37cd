// The Python side of the image kernels: checks shapes and fills arrays that the caller made. It alone knows Python.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "vision/colour.hpp"
#include "vision/connect.hpp"
#include "vision/daisy.hpp"
#include "vision/merge.hpp"
#include "vision/slic.hpp"

namespace nb = nanobind;
namespace nv = neuralfactors::vision;

namespace {

template <typename T, int N>
using Array = nb::ndarray<T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;

void require(bool holds, const char* message) {
  if (!holds) throw nb::value_error(message);
}

void check_rgb(const Array<const std::uint8_t, 3>& rgb) {
  require(rgb.shape(2) == 3, "image must have the shape (height, width, 3)");
}

void rgb_to_lab(const Array<const std::uint8_t, 3>& image, const Array<const float, 1>& linear, float scale,
                const Array<float, 3>& lab) {
  check_rgb(image);
  require(linear.shape(0) == 256, "linear must have 256 entries, one for each byte");
  require(lab.shape(0) == 3 && lab.shape(1) == image.shape(0) && lab.shape(2) == image.shape(1),
          "lab must have the shape (3, height, width) of the image");
  const auto n_pixels = static_cast<std::int64_t>(image.shape(0) * image.shape(1));
  nv::rgb_to_lab(image.data(), n_pixels, linear.data(), scale, lab.data());
}

void rgb_to_hsv_cone(const Array<const std::uint8_t, 3>& image, const Array<float, 3>& cone) {
  check_rgb(image);
  require(cone.shape(0) == image.shape(0) && cone.shape(1) == image.shape(1) && cone.shape(2) == 3,
          "cone must have the shape of the image");
  nv::rgb_to_hsv_cone(image.data(), static_cast<std::int64_t>(image.shape(0) * image.shape(1)), cone.data());
}

void slic(const Array<const float, 3>& lab, const Array<const std::int64_t, 2>& seeds,
          std::pair<std::int64_t, std::int64_t> reach, double weight, int n_iterations,
          const Array<std::int32_t, 2>& labels) {
  const auto height = static_cast<std::int64_t>(lab.shape(1)), width = static_cast<std::int64_t>(lab.shape(2));
  require(lab.shape(0) == 3, "lab must have the shape (3, height, width)");
  require(seeds.shape(0) > 0 && seeds.shape(1) == 2, "seeds must have the shape (n, 2) with n > 0");
  require(labels.shape(0) == lab.shape(1) && labels.shape(1) == lab.shape(2),
          "labels must have the shape (height, width) of lab");
  require(reach.first > 0 && reach.second > 0, "reach must be positive");
  std::vector<nv::Centre> centres(seeds.shape(0));
  for (std::size_t k = 0; k < centres.size(); ++k) {
    const std::int64_t y = seeds(k, 0), x = seeds(k, 1);
    require(0 <= y && y < height && 0 <= x && x < width, "seeds must lie within lab");
    centres[k].y = static_cast<float>(y);
    centres[k].x = static_cast<float>(x);
  }
  nv::slic({lab.data(), height, width}, std::move(centres), {reach.first, reach.second, static_cast<float>(weight)},
           n_iterations, labels.data());
}

int connect_regions(const Array<const std::int32_t, 2>& labels, std::int64_t smallest, std::int64_t largest,
                    const Array<std::int32_t, 2>& regions) {
  require(regions.shape(0) == labels.shape(0) && regions.shape(1) == labels.shape(1),
          "regions must have the shape of labels");
  require(largest > 0, "largest must be positive");
  return nv::connect_regions(labels.data(), static_cast<std::int64_t>(labels.shape(0)),
                             static_cast<std::int64_t>(labels.shape(1)), {smallest, largest}, regions.data());
}

void merge_alike(const Array<const std::int64_t, 2>& edges, const Array<const double, 1>& areas,
                 const Array<const double, 2>& colours, std::int64_t n_regions, double largest, double least_contrast,
                 const Array<std::int32_t, 1>& target) {
  const auto n = static_cast<std::int64_t>(areas.shape(0));
  require(edges.shape(1) == 2, "edges must have the shape (n, 2)");
  require(colours.shape(0) == areas.shape(0) && colours.shape(1) == 3, "colours must have three entries per region");
  require(target.shape(0) == areas.shape(0), "target must have one entry per region");
  std::vector<nv::Patch> patches(areas.shape(0));
  for (std::size_t k = 0; k < patches.size(); ++k) {
    require(areas(k) > 0, "areas must be positive");
    patches[k].area = areas(k);
    patches[k].colour = {colours(k, 0), colours(k, 1), colours(k, 2)};
  }
  for (std::size_t e = 0; e < edges.shape(0); ++e) {
    const std::int64_t i = edges(e, 0), j = edges(e, 1);
    require(0 <= i && i < n && 0 <= j && j < n && i != j, "edges must join two different regions");
    patches[i].beside.push_back(static_cast<std::int32_t>(j));
    patches[j].beside.push_back(static_cast<std::int32_t>(i));
  }
  const auto found = nv::Merger(std::move(patches), {n_regions, largest, least_contrast}).run();
  std::copy(found.begin(), found.end(), target.data());
}

using RingArgument = std::pair<std::vector<float>, std::vector<std::array<std::int64_t, 2>>>;

void daisy(const Array<const float, 2>& grey, const std::vector<RingArgument>& ring_arguments,
           std::array<std::int64_t, 2> origin, std::int64_t stride, const Array<float, 3>& descriptors) {
  const auto size_of = [](std::size_t size) { return static_cast<std::int64_t>(size); };
  const nv::Lattice lattice = {origin, stride, {size_of(descriptors.shape(0)), size_of(descriptors.shape(1))}};
  const std::array<std::int64_t, 2> shape = {size_of(grey.shape(0)), size_of(grey.shape(1))};
  require(stride > 0, "stride must be positive");
  std::vector<nv::Ring> rings;
  std::size_t n_histograms = 0;
  for (const auto& [kernel, offsets] : ring_arguments) {
    require(!kernel.empty(), "a ring needs a kernel");
    for (const auto& offset : offsets) {
      for (int axis = 0; axis < 2; ++axis) {
        const std::int64_t first = origin[axis] + offset[axis], last = first + (lattice.points[axis] - 1) * stride;
        require(first >= 0 && last < shape[axis], "every histogram must lie within grey");
      }
    }
    n_histograms += offsets.size();
    rings.push_back({kernel, offsets});
  }
  require(descriptors.shape(2) == n_histograms * nv::kOrientations, "descriptors has the wrong last dimension");
  nv::daisy(grey.data(), shape[0], shape[1], rings, lattice, descriptors.data());
}

}  // namespace

NB_MODULE(_kernels, m) {
  m.doc() =
      "Image kernels: colour spaces, SLIC, connected and merged regions, and DAISY. All of them fill arrays the caller "
      "made.";
  const auto release = nb::call_guard<nb::gil_scoped_release>();
  m.def("rgb_to_lab", &rgb_to_lab, nb::arg("image").noconvert(), nb::arg("linear").noconvert(), nb::arg("scale"),
        nb::arg("lab").noconvert(), release);
  m.def("rgb_to_hsv_cone", &rgb_to_hsv_cone, nb::arg("image").noconvert(), nb::arg("cone").noconvert(), release);
  m.def("slic", &slic, nb::arg("lab").noconvert(), nb::arg("seeds").noconvert(), nb::arg("reach"), nb::arg("weight"),
        nb::arg("n_iterations"), nb::arg("labels").noconvert(), release);
  m.def("connect_regions", &connect_regions, nb::arg("labels").noconvert(), nb::arg("smallest"), nb::arg("largest"),
        nb::arg("regions").noconvert(), release);
  m.def("merge_alike", &merge_alike, nb::arg("edges").noconvert(), nb::arg("areas").noconvert(),
        nb::arg("colours").noconvert(), nb::arg("n_regions"), nb::arg("largest"), nb::arg("least_contrast"),
        nb::arg("target").noconvert(), release);
  m.def("daisy", &daisy, nb::arg("grey").noconvert(), nb::arg("rings"), nb::arg("origin"), nb::arg("stride"),
        nb::arg("descriptors").noconvert(), release);
}
