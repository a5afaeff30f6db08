#pragma once
// The methods that can be trained. A new one has its options in include/margrove
// (linear_estimators.hpp is an example) and a .cpp file in src/methods with
//
//   Plan plan_hsvm(const HSvmOptions&, const TrainingSet&, Executor&, RunControl&);
//   Method hsvm() { return make_method<HSvmOptions>("hierarchical SVM ...", plan_hsvm); }
//
// and its lines in src/methods/methods.hpp (docs/adding_a_method.md). The CLI, the Python package
// and the reference page docs/options.md find it there.

#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "margrove/common_options.hpp"
#include "margrove/control.hpp"
#include "margrove/executor.hpp"
#include "margrove/options.hpp"
#include "margrove/results.hpp"
#include "model/loss_weight.hpp"
#include "model/plan.hpp"
#include "model/training_set.hpp"

namespace margrove {

/// The value of the constant feature: as w_0 bias with the regulariser P w_0^2 / 2 is w_0' bias /
/// sqrt(P) with w_0'^2 / 2, it stands for the penalty P too. Throws InvalidOption if P is 0, or
/// given without an intercept.
template <class Options>
double intercept_value(const Options& options) {
  require<InvalidOption>(options.intercept_penalty == 1 || options.bias > 0,
                         "option intercept_penalty is ", options.intercept_penalty,
                         ", but bias is 0, so that there is no intercept");
  require<InvalidOption>(options.intercept_penalty > 0,
                         "option intercept_penalty is 0, but must be > 0 here: free intercepts are "
                         "for flat-svm and level-svm with multiclass ovr, flat-lr, top-down-svm, "
                         "label-trees, and hr-svm and hr-lr without a label graph and the "
                         "alternating solver");
  return options.bias / std::sqrt(options.intercept_penalty);
}

/// A base class with the options of margrove/common_options.hpp.
struct CommonOptions {
  double C = 1.0;
  double lambda = 0;
  double bias = 1.0;
  double intercept_penalty = 1.0;
  std::uint64_t seed = 0;
  static auto fields() { return detail::common_fields<CommonOptions>(); }
  double loss_weight() const { return margrove::loss_weight(*this); }
};

/// name -> value, as on a command line.
using OptionValues = std::vector<std::pair<std::string, std::string>>;

/// One method with its options, ready to be set and trained.
class MethodRun {
 public:
  virtual ~MethodRun() = default;
  /// Refers to this object.
  virtual OptionTable& options() = 0;
  /// Decides how to train on `data` with the executor's number of threads. Apart from the memory,
  /// the result does not depend on this number unless `control` stops it. Throws InvalidOption and
  /// InvalidInput.
  virtual Plan plan(const TrainingSet& data, Executor& executor, RunControl& control) const = 0;
  /// Makes a plan and carries it out. The result depends only on options and data, not on
  /// executor.size(), unless `control` stops it; then it has the best weights so far and that Stop.
  /// Throws as plan().
  TrainResult train(const TrainingSet& data, Executor& executor, RunControl& control) const {
    return plan(data, executor, control).train(executor, control);
  }
};

/// A method by name. Cheap to copy.
struct Method {
  std::string name;                                   // "flat-svm"
  std::string summary;                                // one line
  std::function<std::unique_ptr<MethodRun>()> start;  // options at their defaults
  bool needs_hierarchy = false;
  /// For methods whose examples are not rows: reads them from files, or texts, of their own format.
  /// Returns null if the method takes rows with these options. Throws OutOfTimeLimit where the
  /// control, which may be null, asks to end; its memory limit bounds lines.
  std::function<std::unique_ptr<StructuredExamples>(
      const std::vector<ExampleSource>& sources, const OptionTable& options, RunControl* control)>
      read_examples;
  /// The option that replaces the hierarchy if it is given; empty: there is none.
  std::string hierarchy_substitute;
  /// Options that refer to the values of unscaled columns, as kernels with widths do. If one is not
  /// at its default, columns are not scaled by default, and those that no row has are kept.
  std::vector<std::string> column_options;
  bool takes_start = false;     // whether training can start from the weights of a model
  bool label_sets = true;       // whether a row may have several labels, or none
  bool row_weights = true;      // whether rows and classes may have weights
  bool uses_hierarchy = true;   // in training, but for partial labels
  bool kernel_features = true;  // whether it is linear in the columns, which may be kernel features
  /// Whether a row with the empty set is an example like others. Otherwise rows without a label are
  /// left out or refused.
  bool empty_sets = false;
  /// Values of options, with each of which it is not although `empty_sets`.
  OptionValues no_empty_sets_with = {};
  /// Whether training starts from the state of a training with another C on the same rows, and then
  /// takes clearly less time (Continuation).
  bool warm_starts = false;
  /// Values of options, with each of which it does not although `warm_starts`.
  OptionValues no_warm_starts_with = {};
};

/// What the method cannot do, as the reference page prints it and tests read it there.
std::vector<std::string> limits_of(const Method& method);

/// Whether the method needs a hierarchy with these options.
bool needs_hierarchy(const Method& method, const OptionTable& options);

/// Throws InvalidOption if rows without a label are meant as empty sets, which the method with
/// these options does not take.
void require_empty_sets(const Method& method, const OptionTable& options,
                        LabelSets::Unlabelled meaning);
/// Why the method with these options does not take empty sets, as the end of a sentence whose
/// subject is the method; empty if it does.
std::string obstacle_of_empty_sets(const Method& method, const OptionTable& options);

/// Whether the method has warm starts with these options.
bool has_warm_starts(const Method& method, const OptionTable& options);

/// All methods, in the order of the documentation.
const std::vector<Method>& methods();
/// Throws InvalidOption listing all names.
const Method& find_method(std::string_view name);

/// A method from an options struct (kMethod is its name and fields() its table) and the function
/// that plans with it: Plan(const Options&, const TrainingSet&, Executor&, RunControl&). The plan
/// must not refer to the options. Where C may be `auto` and there is lambda, the function gets the
/// number, for which `loss_weight_rule` must be given.
template <class Options, class MakePlan>
Method make_method(std::string summary, MakePlan make_plan,
                   LossWeightRule (*loss_weight_rule)(const Options&) = nullptr) {
  class Run final : public MethodRun {
   public:
    Run(MakePlan plan_function, LossWeightRule (*rule)(const Options&))
        : table_(options_), make_plan_(plan_function), loss_weight_rule_(rule) {}
    OptionTable& options() override { return table_; }
    Plan plan(const TrainingSet& data, Executor& executor, RunControl& control) const override {
      table_.validate();
      if constexpr (requires { options_.C.has_value(), options_.lambda; }) {
        Options options = options_;
        const bool is_automatic = !options.C && options.lambda == 0;
        if (is_automatic) {
          options.C = automatic_loss_weight(data, loss_weight_rule_(options));
        }
        Plan plan = make_plan_(options, data, executor, control);
        if (is_automatic) plan.settled_options.emplace_back("C", concat(*options.C));
        return plan;
      } else {
        return make_plan_(options_, data, executor, control);
      }
    }

   private:
    Options options_;
    OptionTable table_;  // refers to options_
    MakePlan make_plan_;
    LossWeightRule (*loss_weight_rule_)(const Options&);
  };
  return {
      std::string(Options::kMethod),
      std::move(summary),
      [make_plan, loss_weight_rule] { return std::make_unique<Run>(make_plan, loss_weight_rule); },
      /*needs_hierarchy=*/false,
      /*read_examples=*/{},
      /*hierarchy_substitute=*/{},
      /*column_options=*/{}};
}

/// Sets all of them. Throws InvalidOption as OptionTable::set, for an option that is given twice,
/// and for C together with lambda.
void set_options(OptionTable& table, const OptionValues& values);
/// All options of the table with their present values.
OptionValues option_values(const OptionTable& table);
/// The same with the values that a plan or a training has settled, the last one of each option.
OptionValues option_values(const OptionTable& table, const OptionValues& settled);

}  // namespace margrove
