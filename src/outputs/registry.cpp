#include "outputs/registry.hpp"

#include "outputs/chain/chain_output.hpp"
#include "outputs/field/field_output.hpp"
#include "outputs/label_set/node_set_output.hpp"
#include "outputs/tree/dependency_output.hpp"

namespace margrove {

const std::vector<OutputType>& output_types() {
  static const std::vector<OutputType> types{
      chain_output(),
      field_output(),
      node_set_output(),
      dependency_output(),
  };
  return types;
}

}  // namespace margrove
