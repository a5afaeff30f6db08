// An oracle of your own, and slack rescaling: which interval of a noisy signal is the event? f(x,
// y) sums w_0 x_t + w_1 over y; the loss counts the positions on which two intervals differ. The
// best interval is a subarray of maximal sum (Kadane's algorithm): O(length).
#include <cstdio>
#include <margrove/margrove.hpp>

#include "data.hpp"

struct Oracle {
  using Labelling = Interval;
  const Signal& x;
  double w0, w1;
  double f(Interval y) const {
    return w0 * (x.sums[y.second] - x.sums[y.first]) + w1 * (y.second - y.first);
  }
  margrove::Candidate<Interval> at(Interval y) const {
    double loss = x.event.second - x.event.first;
    for (int t = y.first; t < y.second; ++t) loss += x.is_event(t) ? -1 : 1;
    return {y, f(y) - f(x.event), loss};
  }
  margrove::Candidate<Interval> truth() const { return at(x.event); }
  margrove::Candidate<Interval> argmax(double w_m, double w_g) const {
    w_m = std::max(w_m, 1e-9 * w_g);  // ties at a weight of 0 go to the larger of what it weighs
    w_g = std::max(w_g, 1e-9 * w_m);
    Interval best{0, 0};  // empty, worth 0
    double sum = 0, best_sum = 0;
    for (int begin = 0, t = 0; t < x.length(); ++t) {
      sum += w_m * f({t, t + 1}) + w_g * (x.is_event(t) ? -1 : 1);
      if (sum > best_sum) best_sum = sum, best = {begin, t + 1};
      if (sum <= 0) sum = 0, begin = t + 1;
    }
    return at(best);
  }
};

struct Events {
  using Labelling = Interval;
  struct Workspace {};
  std::vector<Signal> signals;
  std::size_t num_examples() const { return signals.size(); }
  std::size_t num_weights() const { return 2; }
  Interval truth(std::size_t i) const { return signals[i].event; }
  Oracle oracle(std::size_t i, margrove::ScaledWeights w, Workspace&) const {
    return {signals[i], w.scale * w.values[0], w.scale * w.values[1]};
  }
  void difference(std::size_t i, Interval y, margrove::SparseVector& out) const {
    out.add(0, float(Oracle{signals[i], 1, 0}.at(y).m));
    out.add(1, float(Oracle{signals[i], 0, 1}.at(y).m));
  }
};

int main() {
  const auto [weights, fit] = margrove::train_structured(
      Events{noisy_signals(200, 1)}, {.C = 0.1, .surrogate = margrove::SlackRescaling{}});
  double wrong = 0;
  for (const Signal& x : noisy_signals(200, 2))
    wrong += Oracle{x, weights[0], weights[1]}.argmax(1, 0).g;
  std::printf("gap %.3f, wrong positions: %.2f of 40\n", fit.relative_gap, wrong / 200);
}
