// What the papers say of the norms that the weight step minimises (NHSVM, section 6).

#include "norms.hpp"

#include <gtest/gtest.h>

#include "random_graphs.hpp"

namespace margrove {
namespace {

using Edges = std::vector<LabelEdge>;
using namespace margrove::testing;

using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
DenseView view(const RowMajor& U) {
  return {{U.data(), std::size_t(U.size())}, std::size_t(U.rows()), std::size_t(U.cols())};
}
RowMajor random_matrix(Eigen::Index rows, Eigen::Index columns, Random& random) {
  RowMajor U(rows, columns);
  for (Eigen::Index i = 0; i < U.size(); ++i) U.data()[i] = random.normal();
  return U;
}
void expect_norm(const NormBounds& bounds, double value) {
  EXPECT_LE(bounds.lower, bounds.upper * (1 + 1e-9));
  EXPECT_NEAR(bounds.lower, value, 1e-4 * value);
  EXPECT_NEAR(bounds.upper, value, 1e-4 * value);
}
constexpr SharedNormOptions kLoose{.gap_tolerance = 1e-5, .max_iterations = 5000};
// Root above four leaves: every leaf has a node of its own and one that all share.
LabelGraph star() { return LabelGraph::build(5, Edges{{0, 1}, {0, 2}, {0, 3}, {0, 4}}); }

TEST(Norms, full_sharing) {
  Random random(1);
  const RowMajor u = random_matrix(1, 6, random);
  const RowMajor U = u.replicate(4, 1);
  expect_norm(shared_norm(view(U), kLoose), u.norm());
  expect_norm(structured_shared_norm(view(U), star(), kLoose), u.norm());
  EXPECT_NEAR(frobenius_norm(view(U)), 2 * u.norm(), 1e-12);
  EXPECT_NEAR(trace_norm(view(U)), 2 * u.norm(), 1e-12);
}

TEST(Norms, no_sharing) {
  Random random(2);
  const RowMajor U = random_matrix(4, 6, random);
  expect_norm(structured_shared_norm(view(U), LabelGraph::flat(4), kLoose), U.norm());
}

TEST(Norms, disjoint_features) {
  Random random(3);
  RowMajor U = RowMajor::Zero(4, 8);
  double trace = 0;
  for (Eigen::Index l = 0; l < 4; ++l) {
    U(l, 2 * l) = random.normal();
    U(l, 2 * l + 1) = random.normal();
    trace += U.row(l).norm();
  }
  expect_norm(shared_norm(view(U), kLoose), U.norm());
  expect_norm(structured_shared_norm(view(U), star(), kLoose), U.norm());
  EXPECT_NEAR(trace_norm(view(U)), trace, 1e-12);
}

TEST(Norms, factor_scaling) {
  Random random(4);
  const RowMajor a = random_matrix(4, 1, random), u = random_matrix(1, 6, random);
  const RowMajor U = a * u;
  expect_norm(shared_norm(view(U), kLoose), a.cwiseAbs().maxCoeff() * u.norm());
  EXPECT_NEAR(frobenius_norm(view(U)), a.norm() * u.norm(), 1e-12);
  EXPECT_NEAR(trace_norm(view(U)), a.norm() * u.norm(), 1e-12);
  expect_norm(max_norm(view(U), kLoose), a.cwiseAbs().maxCoeff() * u.cwiseAbs().maxCoeff());
}

TEST(Norms, theorem_2_and_lemma_3) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto graph =
        seed % 2 ? testing::random_tree(8, 0.1, random) : testing::random_dag(8, 2, random);
    const auto rows = static_cast<Eigen::Index>(graph.leaves().size());
    const RowMajor U = random_matrix(rows, 5, random);
    const auto s = shared_norm(view(U), kLoose);
    const auto s_graph = structured_shared_norm(view(U), graph, kLoose);
    const auto most = max_norm(view(U), kLoose);
    EXPECT_LE(trace_norm(view(U)) / std::sqrt(double(rows)), s.upper);
    EXPECT_LE(s.lower / std::sqrt(5.0), most.upper * (1 + 1e-9));
    EXPECT_LE(s.lower, s_graph.upper * (1 + 1e-9));
    EXPECT_LE(s_graph.lower, frobenius_norm(view(U)) * (1 + 1e-9));
    for (const auto& bounds : {s, s_graph, most}) EXPECT_GE(bounds.lower, 0.999 * bounds.upper);
    for (Eigen::Index y = 0; y < rows; ++y) {
      EXPECT_GE(s.upper * (1 + 1e-9), U.row(y).norm());
      EXPECT_GE(s_graph.upper * (1 + 1e-9), U.row(y).norm());
    }
  }
}

TEST(Norms, the_structured_norm_is_the_minimum_over_factors_and_weights) {
  // Any V with path sums U and any alpha is an upper bound on the square.
  Random random(5);
  const auto graph = LabelGraph::build(6, Edges{{0, 2}, {0, 3}, {1, 3}, {1, 4}, {2, 5}});
  const RowMajor U = random_matrix(3, 4, random);
  const auto norm = structured_shared_norm(view(U), graph, kLoose);
  const SharedNormStep step(graph);
  for (int trial = 0; trial < 200; ++trial) {
    RowMajor V = random_matrix(6, 4, random) * random.uniform();
    for (std::size_t k = 0; k < 3; ++k) {
      const NodeId l = graph.leaves()[k];
      V.row(l).setZero();
      Eigen::RowVectorXd sum = Eigen::RowVectorXd::Zero(4);
      for (const NodeId n : graph.ancestors(l)) sum += V.row(n);
      V.row(l) = U.row(Eigen::Index(k)) - sum;
    }
    std::vector<double> squares(6);
    for (NodeId n = 0; n < 6; ++n) squares[n] = V.row(n).squaredNorm();
    EXPECT_GE(std::sqrt(step.weights(squares).value), norm.lower * (1 - 1e-9));
  }
}

}  // namespace
}  // namespace margrove
