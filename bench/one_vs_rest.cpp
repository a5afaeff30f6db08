// Trains one-vs-rest on a problem that bench/liblinear has written, and prints time and memory.
//   bench_one_vs_rest DIRECTORY LOSS C TOLERANCE THREADS [predict]
//
// DIRECTORY holds raw little-endian arrays: x_pointers (int64), x_columns (uint32), x_values
// (float32), y_pointers (int64), y_labels (uint32) and shape (uint32: columns, labels).

#include <fmt/format.h>

#include <chrono>
#include <ctime>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "data/csr_operations.hpp"

#include "linear/one_vs_rest.hpp"

namespace {

template <class T>
std::vector<T> read_array(const std::filesystem::path& path) {
  std::vector<T> values(std::filesystem::file_size(path) / sizeof(T));
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(values.data()),
            static_cast<std::streamsize>(values.size() * sizeof(T)));
  return values;
}

struct Clocks {
  std::clock_t cpu = std::clock();
  std::chrono::steady_clock::time_point wall = std::chrono::steady_clock::now();
  double cpu_seconds() const { return double(std::clock() - cpu) / CLOCKS_PER_SEC; }
  double wall_seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - wall).count();
  }
};

int run(int argc, char** argv) {
  using namespace margrove;
  if (argc < 6) {
    fmt::print(stderr, "usage: {} DIRECTORY LOSS C TOLERANCE THREADS [predict]\n", argv[0]);
    return 2;
  }
  const std::filesystem::path directory = argv[1];
  const auto shape = read_array<std::uint32_t>(directory / "shape");
  const CsrMatrix features(shape[0], read_array<std::int64_t>(directory / "x_pointers"),
                           read_array<FeatureId>(directory / "x_columns"),
                           read_array<float>(directory / "x_values"));
  const auto y_pointers = read_array<std::int64_t>(directory / "y_pointers");
  const auto y_labels = read_array<LabelId>(directory / "y_labels");
  LabelSets labels;
  for (std::size_t i = 0; i + 1 < y_pointers.size(); ++i) {
    labels.append(std::span(y_labels).subspan(y_pointers[i], y_pointers[i + 1] - y_pointers[i]));
  }
  OneVsRestOptions options;
  options.loss = parse_enum<PointLossKind>("loss", argv[2]);
  options.C = std::stod(argv[3]);
  options.tolerance = std::stod(argv[4]);
  options.max_passes = 1000000;
  Executor executor(std::stoi(argv[5]));
  RunControl control;

  const Clocks train;
  const CsrMatrix X = with_intercept(features, 1.0);
  const OneVsRestFit fit = train_one_vs_rest(X, labels, shape[1], options, executor, control);
  const double cpu = train.cpu_seconds();
  const double wall = train.wall_seconds();
  double passes = 0;
  for (const auto& label : fit.labels) passes += label.passes;

  double predict_cpu = 0;
  std::uint64_t checksum = 0;
  if (argc > 6) {
    const Clocks predict;
    std::vector<float> scores(shape[1]);
    for (std::size_t i = 0; i < X.num_rows(); ++i) {
      fit.weights.scores(X.row(i), scores);
      checksum += static_cast<std::uint64_t>(std::max_element(scores.begin(), scores.end()) -
                                             scores.begin());
    }
    predict_cpu = predict.cpu_seconds();
  }
  fmt::print(
      "{{\"cpu_seconds\": {}, \"wall_seconds\": {}, \"primal\": {:.12g}, \"dual\": {:.12g}, "
      "\"passes_per_label\": {:.1f}, \"weights\": {}, \"megabytes\": {:.1f}, \"stop\": \"{}\", "
      "\"predict_cpu_seconds\": {}, \"checksum\": {}}}\n",
      cpu, wall, fit.primal, fit.dual, passes / shape[1], fit.weights.num_nonzeros(),
      double(fit.weights.num_bytes()) / 1e6, to_string(fit.stop), predict_cpu, checksum);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
