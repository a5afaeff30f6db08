#include "structured/plane.hpp"

namespace margrove {

double product_bound(const std::vector<PlaneCut>& cuts) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  double bound = 0.0;
  bool bounded = false;
  for (const PlaneCut& cut : cuts) {
    bounded = bounded || cut.lambda > 0.0;
    // [low, high] is the interval of g on which this cut is the lowest one.
    double low = 0.0, high = cut.lambda > 0.0 ? cut.value / cut.lambda : kInfinity;
    for (const PlaneCut& other : cuts) {
      const double slope = other.lambda - cut.lambda, gap = other.value - cut.value;
      if (slope > 0.0) {
        high = std::min(high, gap / slope);
      } else if (slope < 0.0) {
        low = std::max(low, gap / slope);
      } else if (gap < 0.0) {
        high = -kInfinity;
      }
    }
    if (!(high >= low)) continue;
    double g = cut.lambda > 0.0 ? 0.5 * cut.value / cut.lambda : kInfinity;
    g = std::clamp(g, low, high);
    if (std::isinf(g)) continue;
    bound = std::max(bound, (cut.value - cut.lambda * g) * g);
  }
  return bounded ? bound : kInfinity;
}

void keep_upper_right_chain(std::vector<PlanePoint>& points) {
  std::sort(points.begin(), points.end(), [](const PlanePoint& x, const PlanePoint& y) {
    return x.m != y.m ? x.m > y.m : x.g != y.g ? x.g > y.g : x.index < y.index;
  });
  std::vector<PlanePoint> chain;
  for (const PlanePoint& p : points) {
    if (!chain.empty() && p.g <= chain.back().g) continue;  // dominated
    while (chain.size() >= 2) {
      const PlanePoint &a = chain[chain.size() - 2], &b = chain.back();
      // b lies on or below the edge from a to p.
      if ((b.m - a.m) * (p.g - a.g) - (b.g - a.g) * (p.m - a.m) > 0.0) break;
      chain.pop_back();
    }
    chain.push_back(p);
  }
  points.swap(chain);
}

}  // namespace margrove
