// The synthetic experiments of NHSVM, section 8.1, and the effect of duplicated nodes on a model.
//
//   bench_synthetic_hierarchies accuracy balanced|unbalanced [repetitions = 20] [rows = 8000]
//                               [repetitions that choose C = 2] [tolerance = 1e-2]
//                               [METHOD,... = all] [epochs of METHOD-sgd = 10]
//   bench_synthetic_hierarchies invariance [rows = 1000]
//
// accuracy: repetition r is the problem of seed r, with `rows` training rows, 2,000 rows to choose
// C and 5,000 test rows; no intercept. C = 10^(k/2) has a better mean accuracy on the held-out rows
// of the first repetitions than its neighbours; the rule of nhsvm is chosen together with it.
// Methods named after a rule of node weights, as power:1.5, are nhsvm with that rule; they are not
// among all.
// Methods whose names end in -sgd are trained as in the paper, by few epochs of stochastic
// subgradients. Markdown on stdout, progress on stderr. One thread.

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "data/generators.hpp"
#include "eval/paired_tests.hpp"
#include "hierarchy/graph_operations.hpp"
#include "margrove/significance.hpp"
#include "methods/training.hpp"
#include "outputs/shared_norm_svm.hpp"

using namespace margrove;

namespace {

ModelParts fit(const std::string& method_name, OptionValues values, double C,
               const std::string& tolerance, const Examples& raw, const Hierarchy& hierarchy) {
  const Method& method = find_method(method_name);
  const auto run = method.start();
  values.emplace_back("C", concat(C));
  values.emplace_back("tolerance", tolerance);
  values.emplace_back("bias", "0");
  set_options(run->options(), values);
  const PreparedRows prepared = prepare_rows(raw, &hierarchy, {});
  Executor executor(1);
  RunControl control;
  return train_model(method, *run, prepared.training_set(), prepared.preprocessing, executor,
                     control);
}

Examples rows_of(Dataset data) {
  Examples raw;
  raw.X = std::move(data.X);
  raw.labels = std::move(data.labels);
  raw.codec = std::move(data.codec);
  raw.source = "generated";
  return raw;
}

double accuracy(const ModelParts& model, const Examples& raw) {
  Executor executor(1);
  const LabelSets predicted = model.rows().predict(raw.X, executor);
  const LabelSets truth = translate_labels(raw.labels, raw.codec, model.labels).labels;
  double hits = 0;
  for (std::size_t i = 0; i < raw.num_rows(); ++i) hits += predicted[i][0] == truth[i][0];
  return 100 * hits / static_cast<double>(raw.num_rows());
}

// The shared norm by stochastic subgradients ------------------------------------------------------

/// The tree without its root, and the leaf of each label.
struct Forest {
  LabelGraph graph;
  std::map<std::string, NodeId, std::less<>> node;

  explicit Forest(const Hierarchy& hierarchy) {
    for (const auto& edge : hierarchy.edges) {
      node.try_emplace(hierarchy.codec.name(edge.child), static_cast<NodeId>(node.size()));
    }
    std::vector<LabelEdge> edges;
    for (const auto& edge : hierarchy.edges) {
      const auto parent = node.find(hierarchy.codec.name(edge.parent));
      if (parent == node.end()) continue;
      edges.push_back({parent->second, node.at(hierarchy.codec.name(edge.child))});
    }
    graph = LabelGraph::build(static_cast<std::uint32_t>(node.size()), edges);
  }

  std::vector<NodeId> leaves_of(const Examples& raw) const {
    std::vector<NodeId> leaves;
    for (std::size_t i = 0; i < raw.num_rows(); ++i) {
      leaves.push_back(node.at(raw.codec.name(raw.labels[i][0])));
    }
    return leaves;
  }
};

double path_accuracy(const WeightMatrix& U, const Forest& forest, const Examples& raw) {
  const NodeLists ancestors = ancestor_sets(forest.graph, forest.graph.topological_order());
  const std::vector<NodeId> truth = forest.leaves_of(raw);
  std::vector<float> scores(forest.graph.num_nodes());
  double hits = 0;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    U.scores(raw.X.view().row(static_cast<std::uint32_t>(i)), scores);
    const auto path_score = [&](NodeId leaf) {
      double sum = 0;
      for (const NodeId n : ancestors[leaf]) sum += double(scores[n]);
      return sum;
    };
    const auto best = std::ranges::max_element(forest.graph.leaves(), {}, path_score);
    hits += *best == truth[i];
  }
  return 100 * hits / static_cast<double>(truth.size());
}

/// The node vectors U. As printed, the method is that of shared-svm with solver sgd.
WeightMatrix alternate_by_sgd(bool as_printed, double C, int epochs, const Examples& raw,
                              const Forest& forest) {
  Executor executor(1);
  RunControl control;
  return train_shared_norm_svm_by_sgd(raw.X.view(), forest.leaves_of(raw), forest.graph,
                                      {.C = C, .epochs = epochs, .printed = as_printed}, executor,
                                      control)
      .weights;
}

// Accuracy ----------------------------------------------------------------------------------------

struct Problem {
  Examples train, held_out, test;
  Hierarchy hierarchy;
};

Problem make_problem(bool balanced, std::int64_t num_rows, std::uint64_t seed) {
  const auto generate = [&](std::int64_t first, std::int64_t count) {
    GeneratorOptions options;
    options.num_rows = count;
    options.first_row = first;
    options.seed = seed;
    return balanced ? generate_balanced(options) : generate_unbalanced(options);
  };
  Problem problem;
  GeneratedData train = generate(0, num_rows);
  problem.hierarchy = train.hierarchy;
  problem.train = rows_of(std::move(train.data));
  problem.held_out = rows_of(generate(num_rows, 2000).data);
  problem.test = rows_of(generate(num_rows + 2000, 5000).data);
  return problem;
}

/// Accuracy on further rows.
using Score = std::function<double(const Examples&)>;

struct Learner {
  std::string name;
  std::string method;                  // of the registry, or "" for alternate_by_sgd()
  std::vector<OptionValues> variants;  // the best on the held-out rows is taken
  int start[2];    // k of the first C, 10^(k / 2), on the balanced and the unbalanced problem
  int epochs = 0;  // of alternate_by_sgd()
  bool as_printed = false;
};

struct Choice {
  std::size_t variant = 0;
  int k = 0;
  double loss_weight() const { return std::pow(10.0, 0.5 * k); }
};

std::string to_text(const OptionValues& values) {
  std::string text;
  for (const auto& [name, value] : values) text += concat(' ', name, '=', value);
  return text;
}

Score train(const Learner& learner, const Choice& choice, const std::string& tolerance,
            const Problem& problem) {
  if (learner.method.empty()) {
    Forest forest(problem.hierarchy);
    WeightMatrix U = alternate_by_sgd(learner.as_printed, choice.loss_weight(), learner.epochs,
                                      problem.train, forest);
    return [U = std::move(U), forest = std::move(forest)](const Examples& raw) {
      return path_accuracy(U, forest, raw);
    };
  }
  auto model = std::make_shared<ModelParts>(fit(learner.method, learner.variants[choice.variant],
                                                choice.loss_weight(), tolerance, problem.train,
                                                problem.hierarchy));
  return [model](const Examples& raw) { return accuracy(*model, raw); };
}

void print_table(const std::vector<Learner>& learners, const std::vector<Choice>& chosen,
                 const std::vector<std::vector<double>>& accuracies) {
  fmt::print("| method | C | accuracy, mean ± s.d. |\n|---|---|---|\n");
  for (std::size_t m = 0; m < learners.size(); ++m) {
    const auto& values = accuracies[m];
    double mean = 0, squares = 0;
    for (const double a : values) mean += a / static_cast<double>(values.size());
    for (const double a : values) squares += (a - mean) * (a - mean);
    const double deviation = std::sqrt(squares / std::max(1.0, double(values.size()) - 1));
    fmt::print("| {}{} | {:.2g} | {:.2f} ± {:.2f} |\n", learners[m].name,
               to_text(learners[m].variants[chosen[m].variant]), chosen[m].loss_weight(), mean,
               deviation);
  }
  fmt::print("\n");
  for (std::size_t a = 0; a < learners.size(); ++a) {
    for (std::size_t b = a + 1; b < learners.size(); ++b) {
      const PairedTest test = wilcoxon_signed_rank(accuracies[a], accuracies[b]);
      double difference = 0;
      for (std::size_t r = 0; r < accuracies[a].size(); ++r) {
        difference += (accuracies[a][r] - accuracies[b][r]) / double(accuracies[a].size());
      }
      fmt::print(
          "- {} against {}: {:+.2f} points, better in {} repetitions, worse in {}, p = "
          "{:.1e}\n",
          learners[a].name, learners[b].name, difference, test.first_better, test.second_better,
          test.p_value);
    }
  }
}

/// Mean accuracy on the held-out rows of the first repetitions.
double held_out_accuracy(const Learner& learner, const Choice& choice, const std::string& tolerance,
                         const std::vector<Problem>& problems) {
  const std::clock_t start = std::clock();
  double mean = 0;
  for (const Problem& problem : problems) {
    mean += train(learner, choice, tolerance, problem)(problem.held_out) / double(problems.size());
  }
  fmt::print(stderr, "{}{} C={:.2g} held-out {:.2f}, {:.1f} s\n", learner.name,
             to_text(learner.variants[choice.variant]), choice.loss_weight(), mean,
             double(std::clock() - start) / CLOCKS_PER_SEC);
  return mean;
}

/// The best variant. Each has C = 10^(k/2), at most 100, with a better mean accuracy than both
/// neighbours: the search for k climbs from `start`, or from the k of the variant before.
Choice choose(const Learner& learner, int start, const std::string& tolerance,
              const std::vector<Problem>& problems) {
  constexpr int kLast = 4;
  Choice chosen;
  double most = -1;
  for (std::size_t variant = 0; variant < learner.variants.size(); ++variant) {
    std::map<int, double> means;
    const auto mean_at = [&](int k) {
      if (!means.contains(k)) {
        means[k] = held_out_accuracy(learner, {variant, k}, tolerance, problems);
      }
      return means[k];
    };
    int best = start;
    while (true) {
      const int before = best;
      for (const int neighbour : {before - 1, before + 1}) {
        if (neighbour <= kLast && mean_at(neighbour) > mean_at(best)) best = neighbour;
      }
      if (best == before) break;
    }
    if (means[best] > most) {
      most = means[best];
      chosen = {variant, best};
    }
    start = best;
  }
  return chosen;
}

/// The learners whose names are in a comma-separated list; all if it is empty.
std::vector<Learner> learners_of(const std::string& names, int epochs) {
  const OptionValues sgd{{"solver", "sgd"}, {"epochs", concat(epochs)}};
  const auto with_sgd = [&](OptionValues values) {
    values.insert(values.end(), sgd.begin(), sgd.end());
    return values;
  };
  // rho = 2 and 1 in (10) and (13), and rho = 2 with directional constraints, as in the paper.
  const std::vector<OptionValues> rules{
      {{"alpha", "power:2"}},
      {{"alpha", "maxmin"}},
      {{"alpha", "directional"}},
      {{"alpha", "power:2"}, {"surrogate", "normalized-difference"}},
      {{"alpha", "maxmin"}, {"surrogate", "normalized-difference"}},
  };
  std::vector<OptionValues> sgd_rules;
  for (const OptionValues& rule : rules) sgd_rules.push_back(with_sgd(rule));
  std::vector<Learner> learners{
      {"nhsvm", "nhsvm", rules, {-3, 2}},
      {"hsvm", "hsvm", {{}}, {-2, 4}},
      {"one-vs-rest", "flat-svm", {{{"loss", "hinge"}}}, {-7, 2}},
      {"crammer-singer", "flat-svm", {{{"multiclass", "crammer-singer"}}}, {-4, 2}},
      {"shared-svm", "shared-svm", {{}}, {-4, 2}},
      {"nhsvm-sgd", "nhsvm", sgd_rules, {-3, 3}},
      {"hsvm-sgd", "hsvm", {sgd}, {-3, 4}},
      {"flat-sgd", "nhsvm", {with_sgd({{"alpha", "leaves"}})}, {-4, 3}},
      {"shared-sgd", "", {{}}, {-4, 3}, epochs},
      {"shared-printed-sgd", "", {{}}, {-4, 3}, epochs, true},
  };
  if (!names.empty()) {
    for (const char* rule :
         {"power:1.05", "power:1.2", "power:1.5", "power:2", "power:3", "maxmin", "share:0.5"}) {
      learners.push_back({rule, "nhsvm", {{{"alpha", rule}}}, {-3, 2}});
    }
    std::erase_if(learners, [&](const Learner& learner) {
      return ("," + names + ",").find("," + learner.name + ",") == std::string::npos;
    });
  }
  return learners;
}

void compare_accuracies(bool balanced, std::uint64_t repetitions, std::int64_t num_rows,
                        std::uint64_t num_tuned, const std::string& tolerance,
                        const std::vector<Learner>& learners) {
  std::vector<Problem> tuned;
  for (std::uint64_t seed = 0; seed < num_tuned; ++seed) {
    tuned.push_back(make_problem(balanced, num_rows, seed));
  }
  std::vector<Choice> chosen;
  for (const Learner& learner : learners) {
    // Rows of the balanced problem have norms near sqrt(1000), those of the other 1.
    chosen.push_back(choose(learner, learner.start[balanced ? 0 : 1], tolerance, tuned));
  }
  tuned.clear();
  std::vector<std::vector<double>> accuracies(learners.size());
  for (std::uint64_t seed = 0; seed < repetitions; ++seed) {
    const Problem problem = make_problem(balanced, num_rows, seed);
    for (std::size_t m = 0; m < learners.size(); ++m) {
      const Score score = train(learners[m], chosen[m], tolerance, problem);
      accuracies[m].push_back(score(problem.test));
      fmt::print(stderr, "seed {} {}: {:.2f}\n", seed, learners[m].name, accuracies[m].back());
    }
  }
  print_table(learners, chosen, accuracies);
}

// Invariance --------------------------------------------------------------------------------------

/// Every inner node on the left half of the tree becomes a chain of `copies` nodes.
Hierarchy with_copies(const Hierarchy& hierarchy, int copies) {
  std::map<LabelId, bool> is_inner;
  for (const auto& edge : hierarchy.edges) is_inner[edge.parent] = true;
  Hierarchy result;
  result.source = "copies";
  const auto copy = [&](LabelId n, int k) {
    const std::string& name = hierarchy.codec.name(n);
    return result.codec.add(k == 0 ? name : concat(name, ".", k));
  };
  const auto is_copied = [&](LabelId n) {
    return is_inner.contains(n) &&
           (hierarchy.codec.name(n) == "2" || hierarchy.codec.name(n) == "4");
  };
  for (const auto& [parent, child] : hierarchy.edges) {
    const int last = is_copied(parent) ? copies - 1 : 0;
    const LabelId p = copy(parent, last);
    result.edges.push_back({p, copy(child, 0)});
    if (is_copied(child)) {
      for (int k = 1; k < copies; ++k) {
        const LabelId above = copy(child, k - 1);
        result.edges.push_back({above, copy(child, k)});
      }
    }
  }
  return result;
}

/// The scores of the candidates in all rows, less the mean of each row, in the order of label
/// names.
std::vector<double> centred_scores(const ModelParts& model, const Examples& raw) {
  std::vector<LabelId> ids;
  for (const auto& name : raw.codec.names()) ids.push_back(*model.labels.find(name));
  std::vector<float> scores(model.labels.size());
  std::vector<double> all;
  for (std::size_t i = 0; i < raw.num_rows(); ++i) {
    model.rows().scores(raw.X, i, i + 1, scores);
    double mean = 0;
    for (const LabelId id : ids) mean += double(scores[id]) / double(ids.size());
    for (const LabelId id : ids) all.push_back(double(scores[id]) - mean);
  }
  return all;
}

void show_invariance(std::int64_t num_rows) {
  GeneratorOptions options;
  options.num_rows = num_rows;
  options.num_features = 20;
  const GeneratedData generated = generate_balanced(options);
  options.first_row = num_rows;
  const Examples train = rows_of(generated.data), test = rows_of(generate_balanced(options).data);
  struct Row {
    std::string name, method;
    OptionValues options;
  };
  std::vector<Row> rows;
  for (const char* rho : {"2", "1.5", "1.2"}) {
    const OptionValues rule{{"alpha", concat("power:", rho)}};
    OptionValues merged = rule;
    merged.emplace_back("merge_duplicates", "true");
    rows.push_back({concat("nhsvm, power:", rho), "nhsvm", rule});
    rows.push_back({concat("nhsvm, power:", rho, ", merged"), "nhsvm", merged});
  }
  rows.push_back({"hsvm", "hsvm", {}});
  const std::vector<int> copies{2, 5, 10};
  fmt::print("| method | 2 copies | 5 copies | 10 copies |\n|---|---|---|---|\n");
  for (const Row& row : rows) {
    const auto scores = [&](const Hierarchy& hierarchy) {
      return centred_scores(fit(row.method, row.options, 0.01, "1e-6", train, hierarchy), test);
    };
    const std::vector<double> before = scores(generated.hierarchy);
    fmt::print("| {} |", row.name);
    for (const int count : copies) {
      const std::vector<double> after = scores(with_copies(generated.hierarchy, count));
      double change = 0, norm = 0;
      for (std::size_t k = 0; k < before.size(); ++k) {
        change += (after[k] - before[k]) * (after[k] - before[k]);
        norm += before[k] * before[k];
      }
      fmt::print(" {:.2g} |", std::sqrt(change / norm));
    }
    fmt::print("\n");
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string task = argc > 1 ? argv[1] : "";
  const auto number = [&](int k, std::int64_t other) {
    return argc > k ? std::int64_t{std::strtoll(argv[k], nullptr, 10)} : other;
  };
  if (task == "invariance") {
    show_invariance(number(2, 1000));
    return 0;
  }
  if (task != "accuracy" || argc < 3) {
    fmt::print(stderr,
               "usage: bench_synthetic_hierarchies accuracy balanced|unbalanced "
               "[repetitions] [rows] [repetitions that choose C] [tolerance] [METHOD,...] "
               "[epochs]\n"
               "       bench_synthetic_hierarchies invariance [rows]\n");
    return 2;
  }
  compare_accuracies(std::string(argv[2]) == "balanced", static_cast<std::uint64_t>(number(3, 20)),
                     number(4, 8000), static_cast<std::uint64_t>(number(5, 2)),
                     argc > 6 ? argv[6] : "1e-2",
                     learners_of(argc > 7 ? argv[7] : "", static_cast<int>(number(8, 10))));
  return 0;
}
