// A loss of your own: essays get grades 0 to 4, and a wrong grade costs the square of its distance.
// The model is linear in the mark, f(x, y) = w_2y x + w_2y+1, and its oracle tries all grades.
#include <array>
#include <cstdio>
#include <margrove/margrove.hpp>

#include "data.hpp"

constexpr int kGrades = 5;
double zero_one(int a, int b) { return a != b; }
double squares(int a, int b) { return (a - b) * (a - b); }

struct Oracle {
  using Labelling = int;
  std::array<double, kGrades> f;
  int grade;
  double (*cost)(int given, int truth);
  margrove::Candidate<int> at(int y) const { return {y, f[y] - f[grade], cost(y, grade)}; }
  margrove::Candidate<int> truth() const { return at(grade); }
  margrove::Candidate<int> argmax(double w_m, double w_g) const {
    const auto value = [&](int y) { return w_m * at(y).m + w_g * at(y).g; };
    int best = 0;
    for (int y = 1; y < kGrades; ++y) best = value(y) > value(best) ? y : best;
    return at(best);
  }
};

struct Grading {
  using Labelling = int;
  struct Workspace {};
  std::vector<Essay> essays;
  double (*cost)(int given, int truth);
  std::size_t num_examples() const { return essays.size(); }
  std::size_t num_weights() const { return 2 * kGrades; }
  int truth(std::size_t i) const { return essays[i].grade; }
  Oracle oracle(std::size_t i, margrove::ScaledWeights w, Workspace&) const {
    Oracle oracle{{}, truth(i), cost};
    for (int y = 0; y < kGrades; ++y)
      oracle.f[y] = w.scale * (w.values[2 * y] * essays[i].mark + w.values[2 * y + 1]);
    return oracle;
  }
  void difference(std::size_t i, int y, margrove::SparseVector& out) const {
    if (y == truth(i)) return;
    out.add(2 * y, essays[i].mark), out.add(2 * y + 1, 1);
    out.add(2 * truth(i), -essays[i].mark), out.add(2 * truth(i) + 1, -1);
  }
};

int main() {
  for (const auto& [name, cost] :
       {std::pair("0-1 loss", &zero_one), std::pair("squares", &squares)}) {
    const auto [w, fit] = margrove::train_structured(Grading{graded_essays(500, 1), cost});
    const Grading fresh{graded_essays(500, 2), squares};
    Grading::Workspace none;
    double sum = 0;
    for (int i = 0; i < 500; ++i) sum += fresh.oracle(i, {w}, none).argmax(1, 0).g;
    std::printf("trained with %s: mean squared distance %.3f\n", name, sum / 500);
  }
}
