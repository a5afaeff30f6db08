#pragma once
// Dependency trees as a type of output: `--model dependency`.

#include <vector>

#include "margrove/control.hpp"
#include "margrove/executor.hpp"
#include "outputs/output_type.hpp"
#include "outputs/tree/dependency_tree.hpp"

namespace margrove {

struct DependencySvmOptions : StructuredOptions {
  int hash_bits = 20;

  static auto own_fields() {
    return std::tuple{
        field("hash_bits", &DependencySvmOptions::hash_bits, between(8, 30),
              "features share a table of 2^hash_bits weights"),
    };
  }
};

/// Throws what fit_chain() and DependencyModel throw, and InvalidOption for micro-f1.
StructuredWeights fit_dependency(std::vector<ParserSentence> sentences,
                                 std::vector<DependencyTree> trees,
                                 const DependencySvmOptions& options, Executor& executor,
                                 RunControl& control);

OutputType dependency_output();

}  // namespace margrove
