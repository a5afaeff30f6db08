#include "margrove/model/registry.hpp"

#include <functional>
#include <map>

namespace margrove {
namespace {

// Each is defined in a file of its own.
const std::vector<Method> kMethods{};

using Loader = std::unique_ptr<Predictor> (*)(const TensorMap&);
const std::map<std::string, Loader, std::less<>> kPredictors{};

}  // namespace

const std::vector<Method>& methods() { return kMethods; }

const Method& find_method(std::string_view name) {
  std::vector<std::string> known;
  for (const Method& method : methods()) {
    if (method.name == name) return method;
    known.push_back(method.name);
  }
  throw InvalidOption(
      concat("method is '", name, "', but must be one of ", detail::join(known, ", ")));
}

std::unique_ptr<Predictor> load_predictor(const std::string& kind, const TensorMap& tensors) {
  const auto found = kPredictors.find(kind);
  tensors.check(found != kPredictors.end(), "the model is of kind '", kind,
                "', which this version of Margrove does not know");
  return found->second(tensors);
}

}  // namespace margrove
