#include "outputs/structured_training.hpp"
#include "outputs/tree/dependency_output.hpp"

namespace margrove {

StructuredWeights fit_dependency(std::vector<ParserSentence> sentences,
                                 std::vector<DependencyTree> trees,
                                 const DependencySvmOptions& options, Executor& executor,
                                 RunControl& control) {
  require_hamming(options);
  const DependencyModel model(std::move(sentences), std::move(trees), options.hash_bits);
  return fit_structured(model, options, executor, control);
}

}  // namespace margrove
