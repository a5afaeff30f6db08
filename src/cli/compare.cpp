// margrove compare

#include <fmt/format.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "cli/verbs.hpp"
#include "data/prediction_reader.hpp"
#include "margrove/significance.hpp"

namespace margrove::cli {
namespace {

struct NamedTest {
  std::string_view name;
  PairedTest test;
};

class Compare final : public Command {
 public:
  explicit Compare(CLI::App& app) {
    app.add_option("TRUTH", truth_path_, "rows with their labels")->required()->type_name("");
    app.add_option("A", first_path_, "what predict wrote for these rows")
        ->required()
        ->type_name("");
    app.add_option("B", second_path_, "the same of another model")->required()->type_name("");
    app.add_flag("--text", text_, "TRUTH has lines label<TAB>text");
    app.add_flag("--json", json_, "one JSON object instead of lines");
    app.footer(
        "Two-sided paired tests: the sign test over the decisions (row, label) on which A and B\n"
        "differ, and Wilcoxon's signed rank test over the F1 of the labels in TRUTH.");
  }

  int run() override {
    const RawRows truth = read_rows(truth_path_, text_ ? RowKind::documents : RowKind::numbers);
    LabelCodec codec = truth.codec;
    const LabelSets first = read(first_path_, truth.num_rows(), codec);
    const LabelSets second = read(second_path_, truth.num_rows(), codec);
    print({{"micro_sign_test", micro_sign_test(truth.labels, first, second)},
           {"macro_wilcoxon", macro_wilcoxon_test(truth.labels, first, second)}});
    return kOk;
  }

 private:
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
        object[name] = {{"first_better", test.first_better},
                        {"second_better", test.second_better},
                        {"statistic", test.statistic},
                        {"p_value", test.p_value}};
      }
      std::cout << object.dump() << "\n";
      return;
    }
    std::cout << fmt::format("{:<18} {:>10} {:>10} {:>12} {:>10}\n", "", "A better", "B better",
                             "statistic", "p value");
    for (const auto& [name, test] : tests) {
      std::cout << fmt::format("{:<18} {:>10} {:>10} {:>12} {:>10.3g}\n", name, test.first_better,
                               test.second_better, test.statistic, test.p_value);
    }
  }

  std::string truth_path_, first_path_, second_path_;
  bool text_ = false;
  bool json_ = false;
};

}  // namespace

Verb compare_verb() {
  return make_verb<Compare>("compare",
                            "is one prediction better than another? sign test and Wilcoxon test");
}

}  // namespace margrove::cli
