#pragma once
// The methods that can be trained, and how one is added: its options in include/margrove
// (linear_estimators.hpp shows how) and a .cpp file in src/methods with
//
//   TrainResult train_hsvm(const HSvmOptions&, const TrainingSet&, Executor&, RunControl&);
//   std::uint64_t hsvm_memory(const HSvmOptions&, const TrainingSet&);
//   Method hsvm() {
//     return make_method<HSvmOptions>("hierarchical SVM ...", train_hsvm, hsvm_memory);
//   }
//
// and its name in the list of src/methods/registry.cpp. The CLI, the Python package and the
// reference page docs/options.md find it there.

#include <cstdint>
#include <functional>
#include <limits>
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
#include "model/predictor.hpp"
#include "model/training_set.hpp"

namespace margrove {

struct TrainResult {
  std::unique_ptr<Predictor> predictor;
  FitReport report;
  std::shared_ptr<const FitState> state;  // if the training set asked for it
};

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
  /// Bytes that training will take beyond the training set, and the model; an upper estimate.
  virtual std::uint64_t memory_estimate(const TrainingSet& data) const = 0;
  /// Deterministic for given options, whatever executor.size() is, unless `control` stops it; then
  /// the best weights so far come back with that Stop. Throws InvalidOption and InvalidInput.
  virtual TrainResult train(const TrainingSet& data, Executor& executor,
                            RunControl& control) const = 0;
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
  /// The option that, where it is given, stands in for the hierarchy; empty: none does.
  std::string hierarchy_substitute;
};

/// Whether the method with these options cannot do without a hierarchy.
bool needs_hierarchy(const Method& method, const OptionTable& options);

/// All methods, in the order of the documentation.
const std::vector<Method>& methods();
/// Throws InvalidOption listing the names there are.
const Method& find_method(std::string_view name);

/// A method from an options struct (kMethod is its name and fields() its table) and two functions
/// of it.
template <class Options, class Train, class Memory>
Method make_method(std::string summary, Train train, Memory memory) {
  class Run final : public MethodRun {
   public:
    Run(Train train_function, Memory memory_function)
        : table_(options_), train_(train_function), memory_(memory_function) {}
    OptionTable& options() override { return table_; }
    std::uint64_t memory_estimate(const TrainingSet& data) const override {
      return memory_(options_, data);
    }
    TrainResult train(const TrainingSet& data, Executor& executor,
                      RunControl& control) const override {
      table_.validate();
      return train_(options_, data, executor, control);
    }

   private:
    Options options_;
    OptionTable table_;  // refers to options_
    Train train_;
    Memory memory_;
  };
  return {std::string(Options::kMethod),
          std::move(summary),
          [train, memory] { return std::make_unique<Run>(train, memory); },
          /*needs_hierarchy=*/false,
          /*read_examples=*/{},
          /*hierarchy_substitute=*/{}};
}

/// name -> value, as on a command line.
using OptionValues = std::vector<std::pair<std::string, std::string>>;
/// Sets all of them. Throws InvalidOption as OptionTable::set, for an option that is given twice,
/// and for C together with lambda.
void set_options(OptionTable& table, const OptionValues& values);
/// All options of the table with their present values.
OptionValues option_values(const OptionTable& table);

}  // namespace margrove
