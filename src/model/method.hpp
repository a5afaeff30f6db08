#pragma once
// The methods that can be trained, and how one is added: its options in include/margrove
// (linear_estimators.hpp shows how) and a .cpp file in src/methods with
//
//   Plan plan_hsvm(const HSvmOptions&, const TrainingSet&, Executor&, RunControl&);
//   Method hsvm() { return make_method<HSvmOptions>("hierarchical SVM ...", plan_hsvm); }
//
// and its name in the list of src/methods/registry.cpp. The CLI, the Python package and the
// reference page docs/options.md find it there.

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
#include "margrove/model.hpp"
#include "margrove/options.hpp"
#include "model/plan.hpp"
#include "model/training_set.hpp"

namespace margrove {

/// C, or 1 / (2 lambda) where lambda is given.
template <class Options>
double loss_weight(const Options& options) {
  return options.lambda > 0 ? 1 / (2 * options.lambda) : options.C;
}

/// The options of margrove/common_options.hpp, to derive from.
struct CommonOptions {
  double C = 1.0;
  double lambda = 0;
  double bias = 1.0;
  std::uint64_t seed = 0;
  static auto fields() { return detail::common_fields<CommonOptions>(); }
  double loss_weight() const { return margrove::loss_weight(*this); }
};

/// One method with its options, ready to be set and trained.
class MethodRun {
 public:
  virtual ~MethodRun() = default;
  /// Refers to this object.
  virtual OptionTable& options() = 0;
  /// Decides how to train on `data` with so many threads. Deterministic, whatever executor.size()
  /// is but for the memory, unless `control` stops it. Throws InvalidOption and InvalidInput.
  virtual Plan plan(const TrainingSet& data, Executor& executor, RunControl& control) const = 0;
  /// Carries the plan out. Deterministic for given options, whatever executor.size() is, unless
  /// `control` stops it; then the best weights so far come back with that Stop. Throws as plan().
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
  /// Set for methods whose examples are not rows: reads them from files of their own format. Null
  /// where the method with these options takes rows after all.
  std::function<std::unique_ptr<Examples>(const std::vector<std::string>& paths,
                                          const OptionTable& options)>
      read_examples;
  /// The option that, where it is given, replaces the hierarchy; empty: there is none.
  std::string hierarchy_substitute;
  /// Options that, where they are not at their defaults, speak of the columns' own values, as
  /// kernels with widths do: columns are then not scaled unless this is asked for.
  std::vector<std::string> column_options;
};

/// Whether the method with these options cannot do without a hierarchy.
bool needs_hierarchy(const Method& method, const OptionTable& options);

/// All methods, in the order of the documentation.
const std::vector<Method>& methods();
/// Throws InvalidOption listing the names there are.
const Method& find_method(std::string_view name);

/// A method from an options struct (kMethod is its name and fields() its table) and the function
/// that plans with it: Plan(const Options&, const TrainingSet&, Executor&, RunControl&). The plan
/// must not refer to the options.
template <class Options, class MakePlan>
Method make_method(std::string summary, MakePlan make_plan) {
  class Run final : public MethodRun {
   public:
    explicit Run(MakePlan plan_function) : table_(options_), make_plan_(plan_function) {}
    OptionTable& options() override { return table_; }
    Plan plan(const TrainingSet& data, Executor& executor, RunControl& control) const override {
      table_.validate();
      return make_plan_(options_, data, executor, control);
    }

   private:
    Options options_;
    OptionTable table_;  // refers to options_
    MakePlan make_plan_;
  };
  return {std::string(Options::kMethod),
          std::move(summary),
          [make_plan] { return std::make_unique<Run>(make_plan); },
          /*needs_hierarchy=*/false,
          /*read_examples=*/{},
          /*hierarchy_substitute=*/{},
          /*column_options=*/{}};
}

/// name -> value, as on a command line.
using OptionValues = std::vector<std::pair<std::string, std::string>>;
/// Sets all of them. Throws InvalidOption as OptionTable::set, for an option that is given twice,
/// and for C together with lambda.
void set_options(OptionTable& table, const OptionValues& values);
/// All options of the table with their present values.
OptionValues option_values(const OptionTable& table);

}  // namespace margrove
