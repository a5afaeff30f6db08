// Sums along paths and below nodes, and elimination on the tree. With t_m = sum of z over the
// targets below m, (K z)_l = sum_{A(l)} alpha_m t_m and z' K z = sum_m alpha_m t_m^2.
//
// (K^-1 + diag h) delta = rho minimises sum_n (delta_n - delta_parent(n))^2 / (2 alpha_n) +
// sum_l (h_l delta_l^2 / 2 - rho_l delta_l) over the nodes' path sums delta_n: eliminating the
// nodes from below leaves the parent of n with the precision A_n / (1 + alpha_n A_n) and the
// information b_n / (1 + alpha_n A_n).

#include "path_kernel.hpp"

#include <algorithm>
#include <bit>

#include "margrove/base/errors.hpp"
#include "margrove/base/simd.hpp"

namespace margrove::detail {
namespace {

constexpr std::size_t kWidth = PathKernel::kWidth;

inline void add(const float* x, float* into) {
#pragma omp simd
  for (std::size_t f = 0; f < kWidth; ++f) into[f] += x[f];
}

// Values at the targets become the sums over all targets below each node.
MARGROVE_MULTIVERSION
void sum_below(const PathNode* nodes, std::size_t count, float* sums) {
  for (std::size_t n = count; n-- > 0;) {
    if (nodes[n].parent != PathNode::kNone) add(sums + n * kWidth, sums + nodes[n].parent * kWidth);
  }
}

// parts = alpha parts; returns the sum of alpha parts^2.
MARGROVE_MULTIVERSION
double scale_parts(const PathNode* nodes, std::size_t count, float* parts) {
  double value = 0;
  for (std::size_t n = 0; n < count; ++n) {
    const float alpha = nodes[n].alpha;
    float* own = parts + n * kWidth;
    float squares = 0;
#pragma omp simd reduction(+ : squares)
    for (std::size_t f = 0; f < kWidth; ++f) {
      squares += own[f] * own[f];
      own[f] *= alpha;
    }
    value += alpha * squares;
  }
  return value;
}

// paths[n] = sum of parts over A(n).
MARGROVE_MULTIVERSION
void add_up(const PathNode* nodes, std::size_t count, const float* parts, float* paths) {
  for (std::size_t n = 0; n < count; ++n) {
    float* path = paths + n * kWidth;
    for (std::size_t f = 0; f < kWidth; ++f) path[f] = parts[n * kWidth + f];
    if (nodes[n].parent != PathNode::kNone) add(paths + nodes[n].parent * kWidth, path);
  }
}

// precision and information become 1 / (1 + alpha A) and delta.
MARGROVE_MULTIVERSION
void solve_tree(const PathNode* nodes, std::size_t count, float* precision, float* information) {
  float zero[kWidth] = {};
  float rest[2][kWidth] = {};  // what the tops would hand on
  for (std::size_t n = count; n-- > 0;) {
    const bool top = nodes[n].parent == PathNode::kNone;
    const float alpha = nodes[n].alpha;
    float* A = precision + n * kWidth;
    const float* b = information + n * kWidth;
    float* above_A = top ? rest[0] : precision + nodes[n].parent * kWidth;
    float* above_b = top ? rest[1] : information + nodes[n].parent * kWidth;
#pragma omp simd
    for (std::size_t f = 0; f < kWidth; ++f) {
      const float inverse = 1.0F / (1.0F + alpha * A[f]);
      above_A[f] += A[f] * inverse;
      above_b[f] += b[f] * inverse;
      A[f] = inverse;
    }
  }
  for (std::size_t n = 0; n < count; ++n) {
    const bool top = nodes[n].parent == PathNode::kNone;
    const float alpha = nodes[n].alpha;
    const float* parent = top ? zero : information + nodes[n].parent * kWidth;
    const float* inverse = precision + n * kWidth;
    float* b = information + n * kWidth;
#pragma omp simd
    for (std::size_t f = 0; f < kWidth; ++f) b[f] = (parent[f] + alpha * b[f]) * inverse[f];
  }
}

// z += step s; sums at the targets += z
MARGROVE_MULTIVERSION
void move_targets(float step, const Half* s, float* z, std::size_t count,
                  const std::uint32_t* place, float* sums) {
  for (std::size_t t = 0; t < count; ++t) {
    float* sum = sums + place[t] * kWidth;
    float* own = z + t * kWidth;
    if (s != nullptr) {
#pragma omp simd
      for (std::size_t f = 0; f < kWidth; ++f) own[f] += step * wide(s[t * kWidth + f]);
    }
    add(own, sum);
  }
}

// zeta = y + factor zeta; sums at the targets += zeta
MARGROVE_MULTIVERSION
void turn_targets(float factor, const Half* y, Half* zeta, std::size_t count,
                  const std::uint32_t* place, float* sums) {
  for (std::size_t t = 0; t < count; ++t) {
    float* sum = sums + place[t] * kWidth;
    const Half* from = y + t * kWidth;
    Half* own = zeta + t * kWidth;
#pragma omp simd
    for (std::size_t f = 0; f < kWidth; ++f) {
      own[f] = narrow(wide(from[f]) + factor * wide(own[f]));
      sum[f] += wide(own[f]);
    }
  }
}

// p = path sums; products: zeta' p, rho' p
MARGROVE_MULTIVERSION
void store_direction(const float* paths, const std::uint32_t* place, std::size_t count,
                     const Half* zeta, const Half* rho, Half* p, double* products) {
  for (std::size_t t = 0; t < count; ++t) {
    const float* path = paths + place[t] * kWidth;
    float zeta_p = 0;
    float rho_p = 0;
#pragma omp simd reduction(+ : zeta_p, rho_p)
    for (std::size_t f = t * kWidth; f < (t + 1) * kWidth; ++f) {
      p[f] = narrow(path[f - t * kWidth]);
      zeta_p += wide(zeta[f]) * wide(p[f]);
      rho_p += wide(rho[f]) * wide(p[f]);
    }
    products[0] += zeta_p;
    products[1] += rho_p;
  }
}

MARGROVE_MULTIVERSION
void step_targets(float length, const Half* zeta, const Half* q, Half* rho, Half* s, const Half* h,
                  std::size_t count, const std::uint32_t* place, float* precision,
                  float* information) {
  for (std::size_t t = 0; t < count; ++t) {
    float* A = precision + place[t] * kWidth;
    float* b = information + place[t] * kWidth;
    const std::size_t begin = t * kWidth;
#pragma omp simd
    for (std::size_t f = 0; f < kWidth; ++f) {
      const std::size_t k = begin + f;
      rho[k] = narrow(wide(rho[k]) - length * (wide(zeta[k]) + wide(q[k])));
      s[k] = narrow(wide(s[k]) + length * wide(zeta[k]));
      A[f] += wide(h[k]);
      b[f] += wide(rho[k]);
    }
  }
}

// y = rho - h delta; returns rho' delta
MARGROVE_MULTIVERSION
double store_rest(const Half* rho, const Half* h, const float* deltas, const std::uint32_t* place,
                  std::size_t count, Half* y) {
  double value = 0;
  for (std::size_t t = 0; t < count; ++t) {
    const float* delta = deltas + place[t] * kWidth;
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::size_t f = 0; f < kWidth; ++f) {
      const std::size_t k = t * kWidth + f;
      sum += wide(rho[k]) * delta[f];
      y[k] = narrow(wide(rho[k]) - wide(h[k]) * delta[f]);
    }
    value += sum;
  }
  return value;
}

MARGROVE_MULTIVERSION
void collect(const Half* x, const std::uint32_t* place, std::size_t count, float* sums) {
  for (std::size_t t = 0; t < count; ++t) {
    float* sum = sums + place[t] * kWidth;
#pragma omp simd
    for (std::size_t f = 0; f < kWidth; ++f) sum[f] += wide(x[t * kWidth + f]);
  }
}

float* cleared(std::vector<float>& values) {
  std::fill(values.begin(), values.end(), 0.0F);
  return values.data();
}

}  // namespace

PathKernel::PathKernel(const AdditiveProblem& problem) {
  const LabelGraph& graph = *problem.graph;
  const AncestorSets ancestors = ancestor_sets(graph);
  std::vector<bool> is_target(graph.num_nodes(), false);
  std::vector<bool> kept(graph.num_nodes(), false);
  for (const NodeId t : problem.targets) {
    is_target[t] = true;
    double on_path = 0;
    for (const NodeId m : ancestors[t]) {
      kept[m] = true;
      on_path += problem.alpha[m];
    }
    require(on_path > 0, "joint_newton: the weights on the path of node ", t, " are all 0");
  }
  std::vector<std::uint32_t> place(graph.num_nodes(), PathNode::kNone);
  std::vector<NodeId> stack(graph.roots().rbegin(), graph.roots().rend());
  while (!stack.empty()) {
    const NodeId n = stack.back();
    stack.pop_back();
    if (!kept[n]) continue;
    const auto parents = graph.parents(n);
    place[n] = static_cast<std::uint32_t>(tree_.size());
    tree_.push_back({parents.empty() ? PathNode::kNone : place[parents[0]],
                     static_cast<float>(problem.alpha[n])});
    original_.push_back(n);
    if (is_target[n]) {
      targets_.push_back(n);
      place_.push_back(place[n]);
      invertible_ &= graph.is_leaf(n) && problem.alpha[n] > 0;
    }
    const auto children = graph.children(n);
    stack.insert(stack.end(), children.rbegin(), children.rend());
  }
}

PathKernel::Scratch PathKernel::scratch() const {
  return {std::vector<float>(tree_.size() * kWidth), std::vector<float>(tree_.size() * kWidth)};
}

double PathKernel::move(float step, std::span<const Half> s, std::span<float> z, std::span<float> w,
                        Scratch& scratch) const {
  float* parts = cleared(scratch.first);
  float* paths = scratch.second.data();
  move_targets(step, s.data(), z.data(), place_.size(), place_.data(), parts);
  sum_below(tree_.data(), tree_.size(), parts);
  const double value = scale_parts(tree_.data(), tree_.size(), parts);
  add_up(tree_.data(), tree_.size(), parts, paths);
  for (std::size_t t = 0; t < place_.size(); ++t) {
    std::copy_n(paths + place_[t] * kWidth, kWidth, w.data() + t * kWidth);
  }
  return value;
}

PathKernel::Products PathKernel::turn(float factor, std::span<const Half> y,
                                      std::span<const Half> rho, std::span<Half> zeta,
                                      std::span<Half> p, Scratch& scratch) const {
  float* parts = cleared(scratch.first);
  float* paths = scratch.second.data();
  turn_targets(factor, y.data(), zeta.data(), place_.size(), place_.data(), parts);
  sum_below(tree_.data(), tree_.size(), parts);
  scale_parts(tree_.data(), tree_.size(), parts);
  add_up(tree_.data(), tree_.size(), parts, paths);
  double products[2] = {};
  store_direction(paths, place_.data(), place_.size(), zeta.data(), rho.data(), p.data(), products);
  return {products[0], products[1]};
}

double PathKernel::step(float length, std::span<const Half> zeta, std::span<Half> q,
                        std::span<Half> rho, std::span<Half> s, std::span<const Half> h,
                        Scratch& scratch) const {
  float* precision = cleared(scratch.first);
  float* information = cleared(scratch.second);
  step_targets(length, zeta.data(), q.data(), rho.data(), s.data(), h.data(), place_.size(),
               place_.data(), precision, information);
  solve_tree(tree_.data(), tree_.size(), precision, information);
  return store_rest(rho.data(), h.data(), information, place_.data(), place_.size(), q.data());
}

std::vector<double> PathKernel::solve_column(std::span<const double> w) const {
  std::vector<double> precision(tree_.size(), 0.0);
  std::vector<double> path(tree_.size(), 0.0);  // first the information, then the path sum
  std::vector<bool> fixed(tree_.size(), false);
  for (std::size_t t = 0; t < place_.size(); ++t) {
    fixed[place_[t]] = true;
    path[place_[t]] = w[t];
  }
  for (std::size_t n = tree_.size(); n-- > 0;) {
    if (tree_[n].parent == PathNode::kNone) continue;
    const double alpha = tree_[n].alpha;
    // A fixed value looks like infinite precision.
    const double keep = fixed[n] ? 1.0 / alpha : 1.0 / (1.0 + alpha * precision[n]);
    precision[tree_[n].parent] += fixed[n] ? keep : keep * precision[n];
    path[tree_[n].parent] += keep * path[n];
  }
  std::vector<double> z(place_.size());
  for (std::size_t n = 0; n < tree_.size(); ++n) {
    if (fixed[n]) continue;
    const double alpha = tree_[n].alpha;
    const double above = tree_[n].parent == PathNode::kNone ? 0.0 : path[tree_[n].parent];
    path[n] = (above + alpha * path[n]) / (1.0 + alpha * precision[n]);
  }
  for (std::size_t t = 0; t < place_.size(); ++t) {
    const PathNode& node = tree_[place_[t]];
    const double above = node.parent == PathNode::kNone ? 0.0 : path[node.parent];
    z[t] = (w[t] - above) / node.alpha;
  }
  return z;
}

double PathKernel::squared_norm(std::span<const Half> rho, Scratch& scratch) const {
  float* sums = cleared(scratch.first);
  collect(rho.data(), place_.data(), place_.size(), sums);
  sum_below(tree_.data(), tree_.size(), sums);
  return scale_parts(tree_.data(), tree_.size(), sums);
}

void PathKernel::node_parts(std::span<const float> z, std::span<float> out,
                            Scratch& scratch) const {
  float* parts = cleared(scratch.first);
  for (std::size_t t = 0; t < place_.size(); ++t) {
    add(z.data() + t * kWidth, parts + place_[t] * kWidth);
  }
  sum_below(tree_.data(), tree_.size(), parts);
  scale_parts(tree_.data(), tree_.size(), parts);
  for (std::size_t n = 0; n < tree_.size(); ++n) {
    std::copy_n(parts + n * kWidth, kWidth, out.data() + original_[n] * kWidth);
  }
}

}  // namespace margrove::detail
