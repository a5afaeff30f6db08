#include "numerics/conjugate_gradients.hpp"

#include <gtest/gtest.h>

#include <Eigen/Dense>

#include "base/random.hpp"

namespace margrove::detail {
namespace {

struct System {
  Eigen::MatrixXd A;
  std::vector<double> diagonal, b;
};

System random_system(Eigen::Index size, Random& random) {
  System system;
  Eigen::MatrixXd X(size, size);
  for (Eigen::Index k = 0; k < X.size(); ++k) X.data()[k] = random.normal();
  system.A = X.transpose() * X + Eigen::MatrixXd::Identity(size, size);
  for (Eigen::Index j = 0; j < size; ++j) {
    system.diagonal.push_back(system.A(j, j));
    system.b.push_back(random.normal());
  }
  return system;
}

int solve(const System& system, double target, int most_products, std::vector<double>& residual,
          std::vector<double>& x) {
  residual = system.b;
  const auto multiply = [&](const std::vector<double>& p, std::vector<double>& product) {
    Eigen::Map<Eigen::VectorXd>(product.data(), system.A.rows()) =
        system.A * Eigen::Map<const Eigen::VectorXd>(p.data(), system.A.rows());
  };
  return conjugate_gradients(multiply, system.diagonal, target, most_products, residual, x);
}

TEST(ConjugateGradients, random_systems_are_solved_to_the_target) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto size = static_cast<Eigen::Index>(1 + random.below(30));
    const System system = random_system(size, random);
    std::vector<double> residual, x;
    const int products = solve(system, 1e-9, 1000, residual, x);
    EXPECT_LE(products, 4 * size + 10);
    const Eigen::Map<const Eigen::VectorXd> b(system.b.data(), size), found(x.data(), size);
    EXPECT_LE((system.A * found - b).norm(), 1e-8);
    EXPECT_NEAR((system.A * found - b).norm(), std::sqrt(squared_norm(residual)), 1e-8);
  }
}

TEST(ConjugateGradients, the_limit_on_products_holds_and_each_one_lowers_the_energy) {
  Random random(7);
  const System system = random_system(20, random);
  const Eigen::Map<const Eigen::VectorXd> b(system.b.data(), 20);
  double before = 0;
  for (int most = 1; most < 10; ++most) {
    std::vector<double> residual, x;
    EXPECT_EQ(solve(system, 0, most, residual, x), most);
    const Eigen::Map<const Eigen::VectorXd> found(x.data(), 20);
    const double energy = 0.5 * found.dot(system.A * found) - b.dot(found);
    EXPECT_LT(energy, before);
    before = energy;
  }
}

TEST(ConjugateGradients, no_unknowns_and_a_right_side_of_zero_take_no_products) {
  std::vector<double> residual, x{1};
  EXPECT_EQ(solve({Eigen::MatrixXd(0, 0), {}, {}}, 0, 10, residual, x), 0);
  EXPECT_TRUE(x.empty());
  EXPECT_EQ(solve({Eigen::MatrixXd::Identity(2, 2), {1, 1}, {0, 0}}, 0, 10, residual, x), 0);
  EXPECT_EQ(x, (std::vector<double>{0, 0}));
}

}  // namespace
}  // namespace margrove::detail
