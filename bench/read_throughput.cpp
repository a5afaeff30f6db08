// The megabytes of text per second that each reader takes on one core. SVMlight files given on the
// command line are read, too:
//   build-bench/bench/bench_read_throughput [--benchmark_...] [FILE...]
#include <benchmark/benchmark.h>
#include <zlib.h>
#include <zstd.h>

#include <array>
#include <charconv>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "margrove/hierarchy_reader.hpp"
#include "margrove/svmlight_reader.hpp"
#include "margrove/tfidf.hpp"

namespace {
using namespace margrove;

constexpr std::size_t kBytes = 32 << 20;

/// Rows as in tf-idf data: 100 features of about a million, `digits` decimals.
std::string svmlight_text(int digits) {
  Random random(1);
  std::string text;
  std::array<char, 32> number{};
  while (text.size() < kBytes) {
    text += concat(random.below(5000), ",", random.below(5000));
    std::uint64_t index = 0;
    for (int k = 0; k < 100; ++k) {
      index += 1 + random.below(20000);
      const auto end = std::to_chars(number.data(), number.data() + number.size(), random.uniform(),
                                     std::chars_format::fixed, digits)
                           .ptr;
      text += concat(" ", index, ":", std::string_view(number.data(), end));
    }
    text += '\n';
  }
  return text;
}

std::string gzip(const std::string& text) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY);
  std::string packed(deflateBound(&stream, text.size()) + 32, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

std::string zstd(const std::string& text) {
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 3));
  return packed;
}

void count_bytes(benchmark::State& state, std::size_t bytes) {
  state.counters["MB/s"] = benchmark::Counter(static_cast<double>(bytes) * 1e-6,
                                              benchmark::Counter::kIsIterationInvariantRate);
}

void read_svmlight_text(benchmark::State& state, const std::string& bytes, std::size_t text_size) {
  for (auto _ : state) benchmark::DoNotOptimize(parse_svmlight(bytes, "bench"));
  count_bytes(state, text_size);
}

void read_hierarchy_text(benchmark::State& state) {
  std::string text;
  for (int child = 1; child < 200000; ++child) text += concat((child - 1) / 5, " ", child, "\n");
  for (auto _ : state) benchmark::DoNotOptimize(parse_hierarchy(text, "bench"));
  count_bytes(state, text.size());
}

void fit_and_apply_tfidf(benchmark::State& state) {
  Random random(1);
  std::vector<std::string> documents(20000);
  std::size_t size = 0;
  for (auto& document : documents) {
    for (int k = 0; k < 60; ++k) {
      const double u = random.uniform();  // few words are frequent
      document += concat("word", static_cast<std::uint64_t>(50000 * u * u * u), " ");
    }
    size += document.size();
  }
  for (auto _ : state) {
    const Preprocessing fitted = Preprocessing::fit_text(documents);
    benchmark::DoNotOptimize(fitted.apply(documents));
  }
  count_bytes(state, size);
}
}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  const std::string text = svmlight_text(6);
  const std::string precise = svmlight_text(12);
  const std::string as_gzip = gzip(text);
  const std::string as_zstd = zstd(text);
  const auto add = [](const std::string& name, const std::string& bytes, std::size_t text_size) {
    benchmark::RegisterBenchmark(name.c_str(), read_svmlight_text, bytes, text_size);
  };
  add("svmlight/6_decimals", text, text.size());
  add("svmlight/12_decimals", precise, precise.size());
  add("svmlight/gzip", as_gzip, text.size());
  add("svmlight/zstd", as_zstd, text.size());
  for (int k = 1; k < argc; ++k) {
    std::ifstream file(argv[k], std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    add(concat("svmlight/", argv[k]), bytes, bytes.size());
  }
  benchmark::RegisterBenchmark("hierarchy", read_hierarchy_text);
  benchmark::RegisterBenchmark("tfidf/fit_and_apply", fit_and_apply_tfidf);
  benchmark::RunSpecifiedBenchmarks();
}
