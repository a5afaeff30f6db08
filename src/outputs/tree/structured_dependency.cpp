#include "outputs/structured.hpp"
#include "structured/train_structured.hpp"

namespace margrove {

StructuredResult fit_dependency(std::vector<ParserSentence> sentences,
                                std::vector<DependencyTree> trees, const StructuredOptions& options,
                                Executor& executor, RunControl& control) {
  require_hamming(options);
  require_exact(options);
  const DependencyModel model(std::move(sentences), std::move(trees), options.hash_bits);
  return train_structured(model, options.training(), executor, control);
}

}  // namespace margrove
