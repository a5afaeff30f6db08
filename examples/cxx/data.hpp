#pragma once
// Made-up data of own_oracle.cpp and own_loss.cpp.
#include <algorithm>
#include <random>
#include <utility>
#include <vector>

using Interval = std::pair<int, int>;  // positions first, ..., second - 1

/// Noise, and in one interval of it a higher level.
struct Signal {
  std::vector<float> sums{0};  // sums[t] = x_0 + ... + x_{t-1}
  Interval event;
  int length() const { return int(sums.size()) - 1; }
  bool is_event(int t) const { return event.first <= t && t < event.second; }
};

/// A mark between 0 and 1, and the grade that was given, 0 to 4.
struct Essay {
  float mark;
  int grade;
};

/// About normal, with mean 0.
inline float noise(std::mt19937& random, float deviation) {
  float sum = 0;
  for (int k = 0; k < 12; ++k) sum += float(random()) / float(random.max()) - 0.5F;
  return deviation * sum;
}

inline std::vector<Signal> noisy_signals(int count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Signal> signals(count);
  for (Signal& signal : signals) {
    signal.event.first = int(random() % 20);
    signal.event.second = signal.event.first + 3 + int(random() % 15);
    for (int t = 0; t < 40; ++t) {
      const float x = noise(random, 0.6F) + (signal.is_event(t) ? 0.8F : 0);
      signal.sums.push_back(signal.sums.back() + x);
    }
  }
  return signals;
}

inline std::vector<Essay> graded_essays(int count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Essay> essays(count);
  for (Essay& essay : essays) {
    essay.mark = float(random()) / float(random.max());
    const float judged = 5 * essay.mark + noise(random, random() % 4 == 0 ? 2.0F : 0.3F);
    essay.grade = std::clamp(int(judged), 0, 4);
  }
  return essays;
}
