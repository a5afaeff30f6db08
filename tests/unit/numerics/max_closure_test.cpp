#include "numerics/max_closure.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.hpp"
#include "num_cases.hpp"
#include "numerics/row_lists.hpp"

namespace margrove {
namespace {

constexpr double kNear = 1e-9;

struct Case {
  detail::RowLists parents;
  std::vector<double> weight;
  std::vector<char> active;
};

Case random_case(std::uint64_t seed, std::uint32_t num_nodes, bool whole_numbers) {
  Random random(seed);
  Case made;
  for (std::uint32_t k = 0; k < num_nodes; ++k) {
    for (std::uint32_t p = 0; p < k; ++p) {
      if (random.uniform() < 0.3) made.parents.items.push_back(p);
    }
    made.parents.end_row();
    made.weight.push_back(whole_numbers ? double(random.below(7)) - 3 : random.normal());
    made.active.push_back(random.uniform() < 0.9);
  }
  return made;
}

bool is_closed(const Case& c, std::uint32_t set) {
  for (std::uint32_t k = 0; k < c.weight.size(); ++k) {
    if (!(set >> k & 1)) continue;
    if (!c.active[k]) return false;
    for (const auto p : c.parents[k]) {
      if (c.active[p] && !(set >> p & 1)) return false;
    }
  }
  return true;
}

double weight_of(const Case& c, std::uint32_t set) {
  double sum = 0;
  for (std::uint32_t k = 0; k < c.weight.size(); ++k) {
    if (set >> k & 1) sum += c.weight[k];
  }
  return sum;
}

struct Best {
  double weight = 0;
  std::uint32_t smallest = 0;  // the intersection of the best sets
};
Best brute_force(const Case& c) {
  Best best;
  for (std::uint32_t set = 0; set < 1U << c.weight.size(); ++set) {
    if (!is_closed(c, set)) continue;
    const double weight = weight_of(c, set);
    if (weight > best.weight + kNear) best = {weight, set};
    if (weight > best.weight - kNear) best.smallest &= set;
  }
  return best;
}

TEST(MaxClosure, no_nodes_and_no_positive_node) {
  MaxClosure closure;
  const detail::RowLists none;
  closure.set_graph(none);
  EXPECT_EQ(closure.solve({}, {}), 0);
  const detail::RowLists parents{{0, 0, 1}, {0}};
  const std::vector<double> weight{-1, 0};
  const std::vector<char> active{1, 1};
  closure.set_graph(parents);
  EXPECT_EQ(closure.solve(weight, active), 0);
  EXPECT_FALSE(closure.selected(0) || closure.selected(1));
  EXPECT_EQ(closure.children(0).size(), 1U);
  EXPECT_EQ(closure.children(0)[0], 1U);
}

TEST(MaxClosure, random_graphs_agree_with_brute_force_on_the_smallest_best_set) {
  MaxClosure closure;
  for (std::uint64_t seed = 0; seed < num_cases(600); ++seed) {
    SCOPED_TRACE(seed);
    const Case c = random_case(seed, std::uint32_t(1 + seed % 11), seed % 2 == 0);
    const Best best = brute_force(c);
    closure.set_graph(c.parents);
    ASSERT_NEAR(closure.solve(c.weight, c.active), best.weight, kNear);
    for (std::uint32_t k = 0; k < c.weight.size(); ++k) {
      EXPECT_EQ(closure.selected(k), (best.smallest >> k & 1) != 0) << k;
    }
  }
}

TEST(MaxClosure, what_push_and_pull_return_is_what_the_optimum_feels) {
  MaxClosure closure;
  int pushed = 0, pulled = 0;
  for (std::uint64_t seed = 0; seed < num_cases(600); ++seed) {
    SCOPED_TRACE(seed);
    Case c = random_case(seed, std::uint32_t(2 + seed % 10), false);
    Random random(seed + 1000);
    double best = brute_force(c).weight;
    closure.set_graph(c.parents);
    closure.solve(c.weight, c.active);
    for (int change = 0; change < 6; ++change) {
      const auto k = static_cast<std::uint32_t>(random.below(c.weight.size()));
      if (!c.active[k]) continue;
      const double amount = 2 * random.uniform();
      if (random.uniform() < 0.5) {
        const double taken = closure.push(k, amount);
        c.weight[k] += taken;  // leaves the optimum alone
        pushed += taken > 0;
      } else if (closure.selected(k)) {
        const double given = closure.pull(k, amount);
        c.weight[k] -= given;
        best -= given;
        pulled += given > 0;
      }
      closure.mark_selected();
      ASSERT_NEAR(brute_force(c).weight, best, kNear);
      std::uint32_t set = 0;
      for (std::uint32_t n = 0; n < c.weight.size(); ++n) {
        if (closure.selected(n)) set |= 1U << n;
      }
      EXPECT_TRUE(is_closed(c, set));
      EXPECT_NEAR(weight_of(c, set), best, kNear);
    }
  }
  EXPECT_GT(pushed, 100);
  EXPECT_GT(pulled, 100);
}

TEST(MaxClosure, an_undone_journal_leaves_no_trace) {
  MaxClosure closure, untouched;
  for (std::uint64_t seed = 0; seed < num_cases(200); ++seed) {
    SCOPED_TRACE(seed);
    const Case c = random_case(seed, 10, false);
    for (MaxClosure* each : {&closure, &untouched}) {
      each->set_graph(c.parents);
      each->solve(c.weight, c.active);
    }
    closure.start_journal();
    for (std::uint32_t k = 0; k < 10; ++k) {
      if (!c.active[k]) continue;
      closure.push(k, 0.7);
      if (closure.selected(k)) closure.pull(k, 0.4);
    }
    closure.undo_journal();
    closure.stop_journal();
    for (std::uint32_t k = 0; k < 10; ++k) {
      EXPECT_EQ(closure.supply(k), untouched.supply(k)) << k;
      EXPECT_EQ(closure.demand(k), untouched.demand(k)) << k;
    }
  }
}

// With k forced in, the optimum falls by no less than the demand above k.
TEST(MaxClosure, the_demand_above_a_node_bounds_sets_that_contain_it) {
  MaxClosure closure;
  for (std::uint64_t seed = 0; seed < num_cases(300); ++seed) {
    SCOPED_TRACE(seed);
    const Case c = random_case(seed, 9, false);
    closure.set_graph(c.parents);
    const double best = closure.solve(c.weight, c.active);
    for (std::uint32_t k = 0; k < 9; ++k) {
      if (!c.active[k]) continue;
      double with = -1e300;
      for (std::uint32_t set = 0; set < 1U << 9; ++set) {
        if ((set >> k & 1) && is_closed(c, set)) with = std::max(with, weight_of(c, set));
      }
      EXPECT_LE(with, best - closure.demand(k) + kNear) << k;
    }
  }
}

}  // namespace
}  // namespace margrove
