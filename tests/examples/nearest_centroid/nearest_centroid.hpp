#pragma once
// nearest-centroid: a row gets the label whose centroid is nearest.

#include <tuple>

#include "margrove/options.hpp"
#include "model/method.hpp"

namespace margrove {

struct NearestCentroidOptions {
  static constexpr const char* kMethod = "nearest-centroid";
  double shrinkage = 0;
  static auto fields() {
    return std::tuple{field("shrinkage", &NearestCentroidOptions::shrinkage, non_negative,
                            "number of rows at the origin that each label gets beside its own")};
  }
};

Method nearest_centroid();

}  // namespace margrove
