// Multiple kernel learning by the protocol of SimpleMKL: repeated random splits; Gaussian kernels
// of several widths and polynomial kernels, on all variables and on each alone. Writes one CSV line
// per split and method to stdout, from which bench/mkl_tables.py makes the tables of
// docs/results/kernels.md.
//
//   bench_mkl_tables DATA_FOLDER REPETITIONS NAME...      NAME: uci-sonar, ..., mfeat
//   bench_mkl_tables --libsvm N OUT_FOLDER                one classifier, for
//   bench/svm_vs_libsvm.py

#include <fmt/core.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <map>
#include <numeric>
#include <sstream>
#include <string>

#include "base/random.hpp"
#include "kernel/kernel_classifiers.hpp"
#include "margrove/errors.hpp"

using namespace margrove;

namespace {

struct Table {
  std::vector<std::vector<float>> rows;
  std::vector<std::uint32_t> class_of;
  std::uint32_t num_classes = 0;
  std::vector<ColumnRange> views;  // mfeat
};

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

std::vector<std::string> cells(const std::string& line) {
  std::vector<std::string> result;
  std::stringstream stream(line);
  for (std::string cell; std::getline(stream, cell, ',');) result.push_back(cell);
  return result;
}

std::vector<std::vector<std::string>> read_csv(const std::string& path, bool header) {
  std::ifstream file(path);
  require(file.good(), path, ": cannot be read");
  std::vector<std::vector<std::string>> rows;
  std::string line;
  if (header) std::getline(file, line);
  while (std::getline(file, line)) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (!line.empty()) rows.push_back(cells(line));
  }
  return rows;
}

Table read_table(const std::string& folder, const std::string& name) {
  Table table;
  std::map<std::string, std::uint32_t> classes;
  const auto class_number = [&](const std::string& label) {
    return classes.try_emplace(label, static_cast<std::uint32_t>(classes.size())).first->second;
  };
  if (name == "mfeat") {
    for (const auto& row : read_csv(folder + "/mfeat/labels.csv", false)) {
      table.class_of.push_back(class_number(row[0]));
      table.rows.emplace_back();
    }
    for (const std::string view : {"fou", "fac", "kar", "pix", "zer", "mor"}) {
      const auto begin = static_cast<FeatureId>(table.rows[0].size());
      const auto values = read_csv(folder + "/mfeat/" + view + ".csv", false);
      for (std::size_t i = 0; i < values.size(); ++i) {
        for (const auto& cell : values[i]) table.rows[i].push_back(std::stof(cell));
      }
      table.views.push_back({begin, static_cast<FeatureId>(table.rows[0].size())});
    }
  } else {
    for (const auto& row : read_csv(folder + "/" + name + "/data.csv", true)) {
      table.rows.emplace_back();
      for (std::size_t j = 0; j + 1 < row.size(); ++j) {
        table.rows.back().push_back(std::stof(row[j]));
      }
      table.class_of.push_back(class_number(row.back()));
    }
  }
  table.num_classes = static_cast<std::uint32_t>(classes.size());
  return table;
}

/// Training rows have mean 0 and standard deviation 1 in each column that is not constant.
struct Split {
  CsrMatrix train, test;
  std::vector<std::uint32_t> train_class, test_class;
};

Split make_split(const Table& table, double train_part, std::uint64_t seed) {
  std::vector<std::uint32_t> order(table.rows.size());
  std::iota(order.begin(), order.end(), 0U);
  Random random(seed);
  random.shuffle(std::span(order));
  const auto num_train = static_cast<std::size_t>(train_part * static_cast<double>(order.size()));
  const std::size_t d = table.rows[0].size();
  std::vector<double> mean(d, 0.0), deviation(d, 0.0);
  for (std::size_t a = 0; a < num_train; ++a) {
    for (std::size_t j = 0; j < d; ++j) mean[j] += table.rows[order[a]][j];
  }
  for (double& each : mean) each /= static_cast<double>(num_train);
  for (std::size_t a = 0; a < num_train; ++a) {
    for (std::size_t j = 0; j < d; ++j) {
      deviation[j] += std::pow(table.rows[order[a]][j] - mean[j], 2);
    }
  }
  for (double& each : deviation) each = std::sqrt(each / static_cast<double>(num_train));
  std::vector<FeatureId> columns(d);
  std::iota(columns.begin(), columns.end(), 0U);
  Split split{
      CsrMatrix(static_cast<std::uint32_t>(d)), CsrMatrix(static_cast<std::uint32_t>(d)), {}, {}};
  std::vector<float> values(d);
  for (std::size_t a = 0; a < order.size(); ++a) {
    for (std::size_t j = 0; j < d; ++j) {
      const double centred = table.rows[order[a]][j] - mean[j];
      values[j] = deviation[j] > 0 ? static_cast<float>(centred / deviation[j]) : 0.0F;
    }
    (a < num_train ? split.train : split.test).append_row(columns, values);
    (a < num_train ? split.train_class : split.test_class).push_back(table.class_of[order[a]]);
  }
  return split;
}

struct Group {
  std::string name;
  std::vector<ColumnRange> columns;
};

/// The whole table and single columns for UCI data, the six views for mfeat.
std::vector<KernelGroup> kernel_groups(const Table& table, const CsrMatrix& train) {
  std::vector<KernelGroup> groups;
  const auto add = [&](const std::string& name, std::vector<ColumnRange> columns) {
    const bool single = columns.size() == 1 && columns[0].end == columns[0].begin + 1;
    if (single) {  // constant in this split: no kernel
      bool constant = true;
      for (std::size_t i = 0; i < train.num_rows() && constant; ++i) {
        constant = train.row(i).values[columns[0].begin] == 0.0F;
      }
      if (constant) return;
    }
    KernelGroup group{name, {}};
    KernelSpec spec;
    spec.columns = std::move(columns);
    const auto push = [&](const std::string& suffix) {
      spec.name = name + "/" + suffix;
      group.kernels.push_back(spec);
    };
    spec.type = KernelType::gaussian;
    if (table.views.empty()) {
      spec.width_in_medians = false;
      for (int k = -3; k <= 6; ++k) {
        spec.width = std::pow(2.0, k);
        push(fmt::format("gaussian{}", spec.width));
      }
      spec.type = KernelType::polynomial;
      for (spec.degree = 1; spec.degree <= 3; ++spec.degree) {
        push(fmt::format("polynomial{}", spec.degree));
      }
    } else {
      for (const double width : {0.25, 0.5, 1.0, 2.0}) {
        spec.width = width;
        push(fmt::format("gaussian{}", width));
      }
      spec.type = KernelType::linear;
      push("linear");
    }
    groups.push_back(std::move(group));
  };
  if (table.views.empty()) {
    add("all", {});
    for (FeatureId j = 0; j < train.num_columns(); ++j) add(fmt::format("x{}", j), {{j, j + 1}});
  } else {
    for (std::size_t v = 0; v < table.views.size(); ++v) {
      add(fmt::format("view{}", v), {table.views[v]});
    }
  }
  return groups;
}

/// A product network over the kernels of the groups. UCI: kernels on all variables plus (Gaussians
/// on all variables) o (polynomials of degree 1 on single ones). mfeat: each view alone plus
/// (Gaussians of views 0-2) o (Gaussians of views 3-5).
SumProductNetwork product_network(const std::vector<KernelGroup>& groups, bool views) {
  NetworkBuilder b;
  std::map<std::string, NetworkBuilder::Node> made;
  for (const auto& group : groups) {
    for (const auto& spec : group.kernels) made[spec.name] = b.kernel(spec);
  }
  const auto is_gaussian = [](const KernelSpec& spec) { return spec.type == KernelType::gaussian; };
  std::vector<NetworkBuilder::Node> alone, left, right;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    for (const auto& spec : groups[g].kernels) {
      const auto node = made[spec.name];
      alone.push_back(b.product({node}));
      if (views) {
        if (is_gaussian(spec) && spec.width >= 1)
          (g < 3 ? left : right).push_back(b.product({node}));
      } else if (g == 0) {
        if (is_gaussian(spec)) left.push_back(b.product({node}));
      } else if (spec.type == KernelType::polynomial && spec.degree == 1) {
        right.push_back(b.product({node}));
      }
    }
  }
  const auto first = b.product({b.sum(alone)}, "alone");
  const auto second = b.product({b.sum(left), b.sum(right)}, "products");
  b.sum({first, second});
  return b.build();
}

struct Outcome {
  double accuracy = 0;
  std::size_t kept = 0, paths = 0;
  double seconds = 0;
  int rounds = 0;
  double gap = 0;
};

const std::vector<std::string> kMethods{"average", "l1", "l2", "spn-groups", "spn-product"};

/// Trains and tests one method; Gram matrices are shared between the methods and not timed.
Outcome run(const std::string& method, const std::vector<GramMatrix>& grams,
            const std::vector<KernelGroup>& groups, bool views, const Split& split,
            std::uint32_t num_classes, double C) {
  Executor executor(1);
  RunControl control;
  std::map<std::string, std::size_t> number;
  for (std::size_t k = 0; k < grams.size(); ++k) number[grams[k].kernel.spec.name] = k;
  MklControl options;
  options.svm.C = C;
  options.gap_tolerance = 1e-2;
  options.max_rounds = 200;
  const ClassLabels labels{split.train_class, num_classes};
  std::vector<const SymmetricMatrix*> kernels;
  std::vector<std::vector<std::uint32_t>> lists;
  std::vector<std::uint32_t> place(grams.size());
  std::iota(place.begin(), place.end(), 0U);
  for (const auto& gram : grams) kernels.push_back(&gram.K);
  MklFit fit;
  const double begin = cpu_seconds();
  if (method == "spn-groups" || method == "spn-product") {
    const auto network =
        method == "spn-groups" ? group_network(groups) : product_network(groups, views);
    auto paths = network.paths();
    for (auto& path : paths) {
      for (auto& k : path.kernels)
        k = static_cast<std::uint32_t>(number[network.kernels()[k].name]);
      lists.push_back(path.kernels);
    }
    const std::vector<double> p(network.num_products(), 1.0);
    fit = fit_network(kernels, paths, p, 1.0, labels, options, executor, control);
  } else {
    for (const std::uint32_t k : place) lists.push_back({k});
    if (method == "average") {
      fit = fit_average(kernels, labels, options.svm, executor, control);
    } else {
      fit = fit_lp(kernels, method == "l1" ? 1.0 : 2.0, labels, options, executor, control);
    }
  }
  Outcome outcome;
  outcome.seconds = cpu_seconds() - begin;
  const auto classifiers = make_kernel_classifiers(grams, lists, fit, split.train);
  const auto predicted =
      predicted_classes(classifiers.scores(split.test, executor), classifiers.num_classifiers());
  std::size_t right = 0;
  for (std::size_t i = 0; i < predicted.size(); ++i) right += predicted[i] == split.test_class[i];
  outcome.accuracy = static_cast<double>(right) / static_cast<double>(predicted.size());
  outcome.kept = classifiers.paths.size();
  outcome.paths = lists.size();
  outcome.rounds = fit.rounds;
  outcome.gap = fit.relative_gap;
  return outcome;
}

std::vector<GramMatrix> matrices_of(const std::vector<KernelGroup>& groups, const Split& split) {
  std::vector<KernelSpec> specs;
  for (const auto& group : groups) {
    specs.insert(specs.end(), group.kernels.begin(), group.kernels.end());
  }
  Executor executor(1);
  RunControl control;
  return gram_matrices(specs, split.train, executor, control);
}

/// Chooses C on rows held out from the training part of the first split, once per method and data
/// set.
std::map<std::string, double> choose_C(const Table& table, const Split& first, bool views) {
  Table inner;
  inner.num_classes = table.num_classes;
  inner.views = table.views;
  inner.class_of = first.train_class;
  for (std::size_t i = 0; i < first.train.num_rows(); ++i) {
    const auto row = first.train.row(i);
    inner.rows.emplace_back(row.values.begin(), row.values.end());
  }
  std::map<std::string, double> chosen;
  std::map<std::string, double> best;
  constexpr int kInnerSplits = 2;
  std::map<std::string, std::map<double, double>> sums;
  for (int s = 0; s < kInnerSplits; ++s) {
    const auto split = make_split(inner, 0.7, 1000 + static_cast<std::uint64_t>(s));
    const auto groups = kernel_groups(inner, split.train);
    const auto grams = matrices_of(groups, split);
    for (const auto& method : kMethods) {
      for (const double C : {0.1, 1.0, 10.0, 100.0}) {
        sums[method][C] += run(method, grams, groups, views, split, table.num_classes, C).accuracy;
      }
    }
  }
  for (const auto& [method, by_C] : sums) {
    for (const auto& [C, sum] : by_C) {
      if (!best.contains(method) || sum > best[method]) {
        best[method] = sum;
        chosen[method] = C;
      }
    }
  }
  return chosen;
}

void tables(const std::string& folder, int repetitions, const std::vector<std::string>& names) {
  fmt::print(
      "data,split,method,C,accuracy,kept,paths,seconds,rounds,gap,kernel_seconds,estimate_mb,peak_"
      "mb\n");
  for (const auto& name : names) {
    const auto table = read_table(folder, name);
    const bool views = !table.views.empty();
    const double part = views ? 0.3 : 0.7;
    std::map<std::string, double> C;
    for (int repetition = 0; repetition < repetitions; ++repetition) {
      const auto split = make_split(table, part, static_cast<std::uint64_t>(repetition));
      if (repetition == 0) C = choose_C(table, split, views);
      const double begin = cpu_seconds();
      const auto groups = kernel_groups(table, split.train);
      const auto grams = matrices_of(groups, split);
      const double kernel_seconds = cpu_seconds() - begin;
      for (const auto& method : kMethods) {
        const auto o = run(method, grams, groups, views, split, table.num_classes, C[method]);
        rusage usage{};
        getrusage(RUSAGE_SELF, &usage);
        const auto bytes = kernel_training_memory(split.train, grams.size(),
                                                  table.num_classes == 2 ? 1 : table.num_classes, 1)
                               .total();
        fmt::print("{},{},{},{},{:.6f},{},{},{:.4f},{},{:.3g},{:.3f},{:.1f},{:.1f}\n", name,
                   repetition, method, C[method], o.accuracy, o.kept, o.paths, o.seconds, o.rounds,
                   o.gap, kernel_seconds, static_cast<double>(bytes) / 1e6,
                   static_cast<double>(usage.ru_maxrss) / 1e3);
        std::fflush(stdout);
      }
    }
  }
}

void write_binary(const std::string& path, std::span<const float> values) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(values.data()),
             static_cast<std::streamsize>(values.size_bytes()));
}

/// Two overlapping Gaussian clouds and one Gaussian kernel. K and y are written to files, so that
/// LIBSVM solves the same problem.
void against_libsvm(std::size_t n, const std::string& folder) {
  Random random(1);
  CsrMatrix X(10);
  std::vector<FeatureId> columns(10);
  std::iota(columns.begin(), columns.end(), 0U);
  std::vector<std::int8_t> y;
  for (std::size_t i = 0; i < n; ++i) {
    y.push_back(i % 2 == 0 ? 1 : -1);
    std::vector<float> values;
    for (int j = 0; j < 10; ++j) {
      values.push_back(static_cast<float>(random.normal() + (j < 3 ? 0.6 * y.back() : 0.0)));
    }
    X.append_row(columns, values);
  }
  KernelSpec spec;
  spec.name = "gaussian";
  spec.width = 0.5;
  spec.scaling = KernelScaling::none;
  Executor executor(1);
  RunControl control;
  const std::vector<KernelSpec> specs{spec};
  const auto grams = gram_matrices(specs, X, executor, control);
  std::vector<float> K(n * n);
  const std::vector<const SymmetricMatrix*> matrices{&grams[0].K};
  PathKernels(matrices, {{0}}).combine(std::vector<double>{1.0}, executor, K);
  write_binary(folder + "/K.f32", K);
  std::vector<float> labels(y.begin(), y.end());
  write_binary(folder + "/y.f32", labels);
  for (const double C : {0.1, 1.0, 10.0, 100.0, 1000.0}) {
    const double begin = cpu_seconds();
    const auto solution = solve_svm_dual(K, y, {.C = C}, control);
    const double seconds = cpu_seconds() - begin;
    std::size_t right = 0;
    for (std::size_t i = 0; i < n; ++i) {
      double score = solution.bias;
      for (std::size_t j = 0; j < n; ++j)
        score += solution.u[j] * static_cast<double>(K[i * n + j]);
      right += (score > 0) == (y[i] > 0);
    }
    fmt::print("{} {:.4f} {:.9g} {:.9g} {} {}\n", C, seconds, solution.dual, solution.bias, right,
               solution.iterations);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() == 3 && arguments[0] == "--libsvm") {
    against_libsvm(std::stoul(arguments[1]), arguments[2]);
  } else if (arguments.size() >= 3) {
    tables(arguments[0], std::stoi(arguments[1]), {arguments.begin() + 2, arguments.end()});
  } else {
    fmt::print(stderr, "usage: see the head of bench/mkl_tables.cpp\n");
    return 2;
  }
}
