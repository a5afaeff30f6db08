#include "structured/simplex_block.hpp"

#include <algorithm>

namespace margrove {

double SimplexBlock::gap() const {
  double best = 0.0, present = 0.0;
  for (std::size_t k = 0; k < size(); ++k) {
    best = std::max(best, values[k]);
    present += duals[k] * values[k];
  }
  return std::max(0.0, budget * best - present);
}

double pairwise_steps(SimplexBlock& block, double tolerance, int max_steps) {
  const std::size_t size = block.size();  // as an index: the true labelling
  const auto value = [&](std::size_t k) { return k == size ? 0.0 : block.values[k]; };
  const auto dual = [&](std::size_t k) -> double& {
    return k == size ? block.rest : block.duals[k];
  };
  const auto entry = [&](std::size_t j, std::size_t k) {
    return j == size || k == size ? 0.0 : block.Q[j * size + k];
  };
  double increase = 0.0, first_slope = 0.0;
  for (int step = 0; step < max_steps; ++step) {
    std::size_t to = size, from = block.rest > 0 ? size : 0;
    for (std::size_t k = 0; k < size; ++k) {
      if (value(k) > value(to)) to = k;
      if (block.duals[k] > 0 && (dual(from) <= 0 || value(k) < value(from))) from = k;
    }
    const double slope = value(to) - value(from);
    if (step == 0) first_slope = slope;
    if (dual(from) <= 0 || slope <= 0 || slope < tolerance * first_slope) break;
    const double curvature = entry(to, to) + entry(from, from) - 2 * entry(to, from);
    const bool all = curvature * dual(from) <= slope;
    const double moved = all ? dual(from) : slope / curvature;
    dual(to) += moved;
    dual(from) = all ? 0.0 : dual(from) - moved;
    for (std::size_t k = 0; k < size; ++k)
      block.values[k] -= moved * (entry(k, to) - entry(k, from));
    increase += moved * (slope - 0.5 * moved * curvature);
  }
  return increase;
}

double frank_wolfe_step(SimplexBlock& block) {
  const std::size_t size = block.size();
  std::size_t corner = size;
  for (std::size_t k = 0; k < size; ++k) {
    if (block.values[k] > (corner == size ? 0.0 : block.values[corner])) corner = k;
  }
  std::vector<double> direction(size), Qd(size, 0.0);
  for (std::size_t k = 0; k < size; ++k) {
    direction[k] = (k == corner ? block.budget : 0.0) - block.duals[k];
  }
  double slope = 0.0, curvature = 0.0;
  for (std::size_t j = 0; j < size; ++j) {
    for (std::size_t k = 0; k < size; ++k) Qd[j] += block.Q[j * size + k] * direction[k];
    slope += direction[j] * block.values[j];
    curvature += direction[j] * Qd[j];
  }
  if (slope <= 0) return 0.0;
  const double gamma = slope >= curvature ? 1.0 : slope / curvature;
  block.rest =
      corner == size ? (1 - gamma) * block.rest + gamma * block.budget : (1 - gamma) * block.rest;
  for (std::size_t k = 0; k < size; ++k) {
    block.duals[k] =
        gamma == 1.0 ? (k == corner ? block.budget : 0.0) : block.duals[k] + gamma * direction[k];
    block.values[k] -= gamma * Qd[k];
  }
  return gamma * (slope - 0.5 * gamma * curvature);
}

}  // namespace margrove
