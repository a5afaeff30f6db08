#include "numerics/dense_flow.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "base/random.hpp"

namespace margrove::detail {
namespace {

struct Network {
  std::size_t size = 0;
  std::vector<double> capacity;  // 0: no arc
  double at(std::size_t from, std::size_t to) const { return capacity[from * size + to]; }
};

Network random_network(std::size_t size, double density, bool whole_numbers, Random& random) {
  Network network{size, std::vector<double>(size * size, 0.0)};
  for (std::size_t from = 0; from < size; ++from) {
    for (std::size_t to = 0; to < size; ++to) {
      if (from == to || random.uniform() >= density) continue;
      network.capacity[from * size + to] =
          whole_numbers ? double(random.below(5)) : random.uniform();
    }
  }
  return network;
}

double solve(const Network& network, DenseMaxFlow& flow) {
  flow.reset(network.size);
  for (std::size_t from = 0; from < network.size; ++from) {
    for (std::size_t to = 0; to < network.size; ++to) {
      if (network.at(from, to) > 0) flow.set_arc(from, to, network.at(from, to));
    }
  }
  return flow.solve(0, network.size - 1);
}

// Over all sets with the source and without the sink.
double smallest_cut(const Network& network) {
  double smallest = std::numeric_limits<double>::infinity();
  for (std::uint32_t set = 1; set < 1U << (network.size - 1); set += 2) {
    double cut = 0;
    for (std::size_t from = 0; from < network.size; ++from) {
      for (std::size_t to = 0; to < network.size; ++to) {
        if ((set >> from & 1) && !(set >> to & 1)) cut += network.at(from, to);
      }
    }
    smallest = std::min(smallest, cut);
  }
  return smallest;
}

TEST(DenseMaxFlow, no_arcs_and_no_way_give_no_flow) {
  DenseMaxFlow flow;
  EXPECT_EQ(solve({2, std::vector<double>(4, 0.0)}, flow), 0);
  EXPECT_TRUE(flow.is_reached(0));
  EXPECT_FALSE(flow.is_reached(1));
  Network network{3, std::vector<double>(9, 0.0)};
  network.capacity[0 * 3 + 1] = 2;  // ends before the sink
  EXPECT_EQ(solve(network, flow), 0);
  EXPECT_TRUE(flow.is_reached(1));
  EXPECT_FALSE(flow.is_reached(2));
}

TEST(DenseMaxFlow, random_networks_have_the_flow_of_their_smallest_cut) {
  DenseMaxFlow flow;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto network =
        random_network(2 + random.below(9), 0.2 + 0.8 * random.uniform(), seed % 2 == 0, random);
    EXPECT_NEAR(solve(network, flow), smallest_cut(network), 1e-9);
  }
}

// More nodes than bits in a word.
TEST(DenseMaxFlow, the_flow_is_one_and_the_reached_nodes_are_a_smallest_cut) {
  DenseMaxFlow flow;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto network = random_network(150, 0.02 + 0.3 * random.uniform(), false, random);
    const double value = solve(network, flow);
    double cut = 0;
    for (std::size_t from = 0; from < network.size; ++from) {
      double out = 0;
      for (std::size_t to = 0; to < network.size; ++to) {
        const double sent = network.at(from, to) - flow.capacity(from, to);  // less what came back
        EXPECT_GE(flow.capacity(from, to), -1e-12);
        EXPECT_NEAR(flow.capacity(from, to) + flow.capacity(to, from),
                    network.at(from, to) + network.at(to, from), 1e-9);
        out += sent;
        if (flow.is_reached(from) && !flow.is_reached(to)) cut += network.at(from, to);
      }
      const double expected = from == 0 ? value : (from + 1 == network.size ? -value : 0.0);
      EXPECT_NEAR(out, expected, 1e-9) << from;
    }
    EXPECT_NEAR(cut, value, 1e-9);
  }
}

}  // namespace
}  // namespace margrove::detail
