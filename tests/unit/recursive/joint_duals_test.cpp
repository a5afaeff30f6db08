// The inner nodes' weights in joint descent: however few columns they have, none is lost.
#include "recursive/joint_duals.hpp"

#include <gtest/gtest.h>

#include <set>

#include "recursive_problems.hpp"

namespace margrove::detail {
namespace {

using testing_support::Instance;

/// Rows of four of many columns, and one that all of them have.
Instance wide_instance(std::uint64_t seed) {
  constexpr FeatureId kColumns = 2000;
  Random random(seed);
  Instance made = testing_support::random_instance(seed, testing_support::small_tree(), 0, false);
  made.X = CsrMatrix(kColumns + 1);
  for (std::size_t i = 0; i < 200; ++i) {
    std::set<FeatureId> columns{kColumns};
    while (columns.size() < 5) columns.insert(static_cast<FeatureId>(random.below(kColumns)));
    std::vector<float> values(5);
    for (float& value : values) value = static_cast<float>(1 + random.uniform());
    made.X.append_row(std::vector<FeatureId>(columns.begin(), columns.end()), values);
    made.labels.append(std::vector<LabelId>{made.targets[random.below(made.targets.size())]});
  }
  return made;
}

std::vector<double> path_sum(const JointDuals& duals, std::size_t target) {
  std::vector<double> w(duals.dim(), 0.0);
  for (const NodeId m : duals.paths().inner[target]) {
    const float* v = duals.inner(duals.paths().slot[m]);
    for (std::size_t j = 0; j < w.size(); ++j) w[j] += static_cast<double>(v[j]);
  }
  return w;
}

void expect_sums_along_lists(const JointDuals& duals) {
  for (std::size_t t = 0; t < duals.num_targets(); ++t) {
    std::vector<double> w(duals.dim(), 0.0);
    for (const NodeId m : duals.paths().inner[t]) {
      duals.add_inner_to(duals.paths().slot[m], 1.0, w.data());
    }
    EXPECT_EQ(w, path_sum(duals, t));
  }
}

TEST(JointDuals, sums_along_paths_are_those_of_all_columns) {
  const Instance instance = wide_instance(1);
  const AdditiveProblem problem = instance.problem();
  JointDuals duals(problem);
  Executor executor;
  RunControl control;
  ClosingTime closing(control);
  for (std::uint32_t i = 0; i < 60; ++i) {  // from a few columns to more than a list is kept for
    for (const NodeId m : duals.paths().inner[i % duals.num_targets()]) {
      duals.add_to_inner(duals.paths().slot[m], 0.25 * i - 3, duals.rare(i));
    }
    if (i % 10 == 1) expect_sums_along_lists(duals);
  }
  const std::vector<float> dense(duals.dim(), 0.5F);
  duals.add_to_inner(0, 0.5, std::vector<const float*>{dense.data(), dense.data()});
  expect_sums_along_lists(duals);
  for (std::uint32_t i = 0; i < 8; ++i) duals.active(i % 3).push_back({i, i % 2 == 0, 0.5});
  duals.rebuild_inner_nodes(executor, closing);
  expect_sums_along_lists(duals);
  duals.update_common(executor, closing);
  expect_sums_along_lists(duals);
}

TEST(JointDuals, blocks_of_a_scan_hold_the_weights_of_their_targets) {
  const Instance instance = wide_instance(2);
  const AdditiveProblem problem = instance.problem();
  JointDuals duals(problem);
  Executor executor;
  RunControl control;
  ClosingTime closing(control);
  for (std::uint32_t i = 0; i < 12; ++i) {
    duals.active(i % duals.num_targets()).push_back({i, i % 3 == 0, 0.1 * (i + 1)});
  }
  duals.rebuild_inner_nodes(executor, closing);
  duals.update_common(executor, closing);
  std::vector<Lanes> block;
  duals.fill_block(1, duals.num_targets() - 1, block);
  for (std::size_t t = 1; t < duals.num_targets(); ++t) {
    std::vector<double> w = path_sum(duals, t);
    for (const ActiveRow& v : duals.active(t)) {
      add_scaled(duals.paths().private_alpha[t] * v.signed_a(), duals.rows().row(v.row), w);
    }
    for (std::size_t j = 0; j < w.size(); ++j) {
      EXPECT_NEAR(block[j].at[t - 1], w[j], 1e-6);
    }
  }
}

}  // namespace
}  // namespace margrove::detail
