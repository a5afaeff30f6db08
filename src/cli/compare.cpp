// margrove compare

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

#include "cli/model_arguments.hpp"
#include "cli/record_arguments.hpp"
#include "cli/verbs.hpp"
#include "data/prediction_reader.hpp"
#include "eval/evaluated_rows.hpp"
#include "eval/hierarchy_gain.hpp"
#include "margrove/significance.hpp"
#include "methods/model_rows.hpp"
#include "model/method.hpp"
#include "model/training_set.hpp"

namespace margrove::cli {
namespace {

struct NamedTest {
  std::string_view name;
  PairedTest test;
};

nlohmann::ordered_json json_of(const PairedTest& test) {
  return {{"first_better", test.first_better},
          {"second_better", test.second_better},
          {"statistic", test.statistic},
          {"p_value", test.p_value}};
}

nlohmann::ordered_json json_of(const FrequencyBand& band) {
  return {{"recall", band.total.recall()}, {"f1", band.total.f1()}, {"macro_f1", band.macro_f1}};
}

nlohmann::ordered_json json_of(const std::vector<HierarchyGain::Band>& bands) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const auto& [with, flat, decisions] : bands) {
    list.push_back({{"training_rows", with.name()},
                    {"labels", with.num_labels},
                    {"support", with.total.support},
                    {"with_hierarchy", json_of(with)},
                    {"flat", json_of(flat)},
                    {"sign_test", json_of(decisions)}});
  }
  return list;
}

std::string default_of(const ModelParts& model, const std::string& option) {
  for (const OptionInfo& info : find_method(model.method).start()->options().list()) {
    if (info.name == option) return info.default_value;
  }
  return {};
}

std::string scaling_of(const Preprocessing& preprocessing) {
  switch (preprocessing.kind) {
    case Preprocessing::Kind::none:
      return "none";
    case Preprocessing::Kind::text_tfidf:
    case Preprocessing::Kind::count_tfidf:
      return preprocessing.sublinear_tf ? "tf-idf, sublinear" : "tf-idf";
    case Preprocessing::Kind::normalize:
      return "normalize";
    case Preprocessing::Kind::scale:
      return std::string(name_of(preprocessing.column_scale));
  }
  return {};
}

/// In what the two trainings differ besides the method, "C 1 and 10": options that both methods
/// have, unless each is the method's default, preprocessing, and the numbers of labels' rows.
std::vector<std::string> differences(const ModelParts& first, const ModelParts& second) {
  std::vector<std::string> found;
  const auto compare = [&](std::string_view what, const auto& of_first, const auto& of_second) {
    if (of_first != of_second) {
      found.push_back(fmt::format("{} {} and {}", what, of_first, of_second));
    }
  };
  for (const auto& [name, value] : first.options) {
    const auto other =
        std::ranges::find(second.options, name, [](const auto& o) { return o.first; });
    if (other == second.options.end()) continue;
    if (value == default_of(first, name) && other->second == default_of(second, name)) continue;
    compare(name, value.empty() ? "(none)" : value,
            other->second.empty() ? "(none)" : other->second);
  }
  compare("preprocessing", scaling_of(first.preprocessing), scaling_of(second.preprocessing));
  const auto kernel_features = [](const ModelParts& model) {
    if (!model.kernel_features) return std::string("none");
    return model.kernel_features->choice().to_text() +
           (model.kernel_features->learned ? " of a learned kernel" : "");
  };
  compare("kernel features", kernel_features(first), kernel_features(second));
  const auto num_labels = [](const ModelParts& model) {
    return std::accumulate(model.training_rows.begin(), model.training_rows.end(),
                           std::uint64_t{0});
  };
  compare("labels of training rows", num_labels(first), num_labels(second));
  return found;
}

bool uses_hierarchy(const ModelParts& model) {
  return model.has_hierarchy && find_method(model.method).uses_hierarchy;
}

class Compare final : public Command {
 public:
  explicit Compare(CLI::App& app) {
    app.add_option("TRUTH", truth_path_, "rows with their labels")->required()->type_name("");
    app.add_option("A", first_path_, "predictions for these rows, as written by predict")
        ->required()
        ->type_name("");
    app.add_option("B", second_path_, "predictions of another model")->required()->type_name("");
    records_.declare(app, "Columns of TRUTH in CSV, TSV and JSON lines");
    auto* text = app.add_flag("--text", text_, "TRUTH has lines label<TAB>text");
    auto* flat = app.add_flag(
        "--flat", flat_,
        "A and B are models, and B is flat: tests whether the hierarchy of A helps on TRUTH");
    flat->excludes(text);
    app.add_option("--threads", threads_, "with --flat: number of threads; 0: one per core")
        ->type_name("INT")
        ->check(number_from(0))
        ->needs(flat);
    app.add_option("--vector-file", vector_file_,
                   "with --flat, for models that were trained with one: vectors of the rows")
        ->type_name("FILE")
        ->needs(flat);
    app.add_flag("--json", json_, "one JSON object instead of lines");
    app.footer(
        "Two-sided paired tests: the sign test over the decisions (row, label) on which A and B\n"
        "differ, and Wilcoxon's signed rank test over the F1 of the labels in TRUTH. With --flat: "
        "the\n"
        "sign test over the rows on which one model's labels have the larger F1, and Wilcoxon's\n"
        "test over the rows' F1 of labels with all their ancestors; and the sign test over the\n"
        "decisions about labels with 0, 1, 2-5, 6-20, 21-100 and more training rows.");
  }

  int run() override {
    if (flat_) {
      require<InvalidOption>(!records_.are_given(),
                             "columns or a format are selected, but with option flat the models "
                             "say what they read");
      return compare_with_flat();
    }
    const Examples truth = read_truth();
    LabelCodec codec = truth.codec;
    const LabelSets first = read(first_path_, truth.num_rows(), codec);
    const LabelSets second = read(second_path_, truth.num_rows(), codec);
    print({{"micro_sign_test", micro_sign_test(truth.labels, first, second)},
           {"macro_wilcoxon", macro_wilcoxon_test(truth.labels, first, second)}});
    return kOk;
  }

 private:
  Examples read_truth() const {
    const std::optional<RecordSelection> selection = records_.selection();
    const ColumnPatterns patterns = selection ? records_.patterns(*selection) : ColumnPatterns();
    const std::string format = records_.format();
    require<InvalidOption>(!text_ || !selection, "option text is given, but columns are selected");
    require<InvalidOption>(!records_.has_ids(),
                           "option id_column is given, but compare reads no annotations");
    return read_rows(truth_path_, records_.row_kind(text_),
                     {.selection = selection ? &*selection : nullptr,
                      .patterns = selection ? &patterns : nullptr,
                      .format = format,
                      .first_index = 0});  // of numbers, the labels alone count
  }

  LabelSets read(const std::string& path, std::size_t num_rows, LabelCodec& codec) const {
    LabelSets sets = read_predictions(path, codec);
    require(sets.num_rows() == num_rows, path, ": the file has ", sets.num_rows(),
            " rows, but must have ", num_rows, " like ", truth_path_);
    return sets;
  }

  void print(const std::vector<NamedTest>& tests) const {
    if (json_) {
      nlohmann::ordered_json object;
      for (const auto& [name, test] : tests) {
        object[name] = json_of(test);
      }
      std::cout << object.dump() << "\n";
      return;
    }
    print_lines(tests);
  }

  static void print_lines(const std::vector<NamedTest>& tests) {
    std::cout << fmt::format("{:<18} {:>10} {:>10} {:>12} {:>10}\n", "", "A better", "B better",
                             "statistic", "p value");
    for (const auto& [name, test] : tests) {
      std::cout << fmt::format("{:<18} {:>10} {:>10} {:>12} {:>10.3g}\n", name, test.first_better,
                               test.second_better, test.statistic, test.p_value);
    }
  }

  int compare_with_flat() const {
    ModelArguments models;
    models.threads = threads_;
    const ModelParts with = models.load(first_path_), flat = models.load(second_path_);
    require(uses_hierarchy(with), first_path_, ": the model is of method ", with.method,
            ", but must be one that uses a hierarchy");
    require(!uses_hierarchy(flat), second_path_, ": the model is of method ", flat.method,
            ", which uses a hierarchy, but must be a flat one");
    require(with.views.empty() && flat.views.empty(),
            "compare: the models must take rows of one view");
    require(row_kind(with) == row_kind(flat), second_path_,
            ": the model must take rows of the same kind, texts or numbers, as ", first_path_);
    require(!with.records || with.records->selection == flat.records->selection, second_path_,
            ": the model must take the same columns as ", first_path_);
    if (const auto found = differences(with, flat); !found.empty()) {
      warn(fmt::format(
          "the trainings of A and B differ: {}; unless each was tuned, the result may come from "
          "that and not from the hierarchy",
          fmt::join(found, ", ")));
    }
    const Examples raw = read_rows_of_model(
        with, {.rows = truth_path_, .views = {}, .vectors = vector_file_, .labels_optional = false},
        nullptr);
    Executor executor(threads_);
    const EvaluatedRows rows = evaluated_rows(with, raw, nullptr, nullptr, executor);
    const CsrMatrix X = preprocess(flat, raw, nullptr, executor);
    const LabelSets of_flat =
        translate_labels(flat.rows().predict(X, executor), flat.labels, rows.labels).labels;
    print_gain(
        hierarchy_gain(rows.truth, rows.predicted, of_flat, rows.hierarchy, rows.training_rows));
    return kOk;
  }

  void print_gain(const HierarchyGain& gain) const {
    if (json_) {
      nlohmann::ordered_json object, with, flat;
      for (const auto& [name, value_with, value_flat] : gain.values) {
        with[name] = value_with;
        flat[name] = value_flat;
      }
      object["gain"] = to_string(gain.gain);
      object["answer"] = gain.answer;
      object["with_hierarchy"] = with;
      object["flat"] = flat;
      object["rows_sign_test"] = json_of(gain.labels);
      object["rows_wilcoxon"] = json_of(gain.nodes);
      object["by_frequency"] = json_of(gain.by_frequency);
      std::cout << object.dump() << "\n";
      return;
    }
    std::cout << fmt::format("{:<18} {:>10} {:>10}\n", "", "A", "B flat");
    for (const auto& [name, value_with, value_flat] : gain.values) {
      std::cout << fmt::format("{:<18} {:>10.4f} {:>10.4f}\n", name, value_with, value_flat);
    }
    std::cout << "\n";
    print_lines({{"rows_sign_test", gain.labels}, {"rows_wilcoxon", gain.nodes}});
    print_frequencies(gain.by_frequency);
    std::cout << "\n" << gain.answer << "\n";
  }

  static void print_frequencies(const std::vector<HierarchyGain::Band>& bands) {
    std::cout << fmt::format("\n{:<14} {:>7} {:>9} {:>9} {:>9} {:>10} {:>10} {:>10}\n",
                             "training rows", "labels", "support", "recall A", "recall B",
                             "A better", "B better", "p value");
    for (const auto& [with, flat, decisions] : bands) {
      if (with.total.support == 0) continue;
      std::cout << fmt::format("{:<14} {:>7} {:>9} {:>9.4f} {:>9.4f} {:>10} {:>10} {:>10.3g}\n",
                               with.name(), with.num_labels, with.total.support,
                               with.total.recall(), flat.total.recall(), decisions.first_better,
                               decisions.second_better, decisions.p_value);
    }
  }

  std::string truth_path_, first_path_, second_path_, vector_file_;
  RecordArguments records_;
  bool text_ = false, flat_ = false;
  int threads_ = 0;
  bool json_ = false;
};

}  // namespace

Verb compare_verb() {
  return make_verb<Compare>(
      "compare",
      "test whether one prediction is better than another (sign test and Wilcoxon test)");
}

}  // namespace margrove::cli
