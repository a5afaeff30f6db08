#include "model/saved_kernel.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "margrove/errors.hpp"

namespace margrove {
namespace {

std::vector<std::uint64_t> flat_lists(const std::vector<std::vector<std::uint32_t>>& lists,
                                      std::vector<std::uint32_t>& items) {
  std::vector<std::uint64_t> pointers{0};
  for (const auto& list : lists) {
    items.insert(items.end(), list.begin(), list.end());
    pointers.push_back(items.size());
  }
  return pointers;
}

std::vector<std::vector<std::uint32_t>> load_lists(const TensorMap& in, const std::string& name,
                                                   std::size_t num_kernels) {
  const auto pointers = in.get<std::uint64_t>(name + ".paths.pointers");
  const auto items = in.get<std::uint32_t>(name + ".paths.kernels");
  in.check(!pointers.empty() && pointers.front() == 0 && pointers.back() == items.size(), name,
           ".paths.pointers must run from 0 to ", items.size());
  std::vector<std::vector<std::uint32_t>> lists;
  for (std::size_t m = 0; m + 1 < pointers.size(); ++m) {
    in.check(pointers[m] < pointers[m + 1] && pointers[m + 1] <= items.size(), name,
             ".paths.pointers[", m + 1, "] is ", pointers[m + 1], ", but pointers must ascend");
    lists.emplace_back(items.begin() + static_cast<std::ptrdiff_t>(pointers[m]),
                       items.begin() + static_cast<std::ptrdiff_t>(pointers[m + 1]));
    for (const auto k : lists.back()) {
      in.check(k < num_kernels, name, ".paths.kernels holds ", k, ", but must stay below ",
               num_kernels);
    }
  }
  return lists;
}

std::string table_name(const std::string& name, std::size_t kernel) {
  return concat(name, ".table.", kernel);
}

/// The table of a precomputed kernel. Model files hold it, so that no other file is read.
std::shared_ptr<const KernelTable> load_table(const TensorMap& in, const std::string& name,
                                              const std::string& kernel) {
  in.check(in.has(name), "the table of the precomputed kernel ", kernel,
           " is not in the file, as before version 0.2; train again");
  auto table = std::make_shared<KernelTable>();
  table->values = in.get_matrix<float>(name, TensorMap::kAnySize, TensorMap::kAnySize);
  table->num_rows = in.shape(name)[0];
  table->num_columns = in.shape(name)[1];
  for (const float value : table->values) {
    in.check(std::isfinite(value), "tensor ", name, " must hold finite numbers");
  }
  return table;
}

void check_not_negative(const TensorMap& in, const std::string& name,
                        const std::vector<double>& values) {
  for (std::size_t k = 0; k < values.size(); ++k) {
    in.check(std::isfinite(values[k]) && values[k] >= 0, name, "[", k, "] is ", values[k],
             ", but must be a number >= 0");
  }
}

// The network and the weights of its product nodes.
void load_network(const TensorMap& in, const std::string& name, std::uint32_t num_columns,
                  LearnedKernel& kernel) {
  try {
    kernel.network = parse_network(in.text(name + ".network"), name + ".network", num_columns);
  } catch (const InvalidInput& error) {
    in.fail(error.what());
  }
  // parse_network() may number the product nodes in another order, so they are found by name.
  const auto names = in.get_strings(name + ".products");
  const auto beta = in.get<double>(name + ".beta", names.size());
  check_not_negative(in, name + ".beta", beta);
  in.check(names.size() == kernel.network.num_products(), name, ".products has ", names.size(),
           " names, but must have ", kernel.network.num_products());
  std::map<std::string, double> beta_of;
  for (std::size_t v = 0; v < names.size(); ++v) beta_of[names[v]] = beta[v];
  for (const auto v : kernel.network.products()) {
    const auto found = beta_of.find(kernel.network.nodes()[v].name);
    in.check(found != beta_of.end(), name, ".products lacks '", kernel.network.nodes()[v].name,
             "'");
    kernel.beta.push_back(found->second);
  }
}

// The kernels in use, with the parameters that training fitted.
void load_kernels(const TensorMap& in, const std::string& name, std::uint32_t num_columns,
                  LearnedKernel& learned) {
  const auto kernel_names = in.get_strings(name + ".names");
  const auto widths = in.get<double>(name + ".widths", kernel_names.size());
  const auto factors = in.get<double>(name + ".factors", kernel_names.size());
  check_not_negative(in, name + ".widths", widths);
  check_not_negative(in, name + ".factors", factors);
  for (std::size_t k = 0; k < kernel_names.size(); ++k) {
    const auto specs = learned.network.kernels();
    const auto spec = std::find_if(specs.begin(), specs.end(), [&](const KernelSpec& each) {
      return each.name == kernel_names[k];
    });
    in.check(spec != specs.end(), name, ".names[", k, "] is '", kernel_names[k],
             "', which is not in the network");
    FittedKernel kernel{*spec, factors[k], nullptr};
    kernel.spec.width = widths[k];
    in.check(!has_width(kernel.spec.type) || widths[k] > 0, name, ".widths[", k, "] must be > 0");
    kernel.spec.width_in_medians = false;
    if (kernel.spec.columns.empty() && num_columns > 0) {
      kernel.spec.columns = {{0, num_columns}};
    }
    if (kernel.spec.type == KernelType::precomputed) {
      kernel.table = load_table(in, table_name(name, k), kernel_names[k]);
    }
    learned.kernels.push_back(std::move(kernel));
  }
}

}  // namespace

void save_kernel(TensorMap& out, const std::string& name, const CombinedKernel& kernel,
                 const SumProductNetwork& network, std::span<const double> beta) {
  out.put_text(name + ".network", format_network(network));
  std::vector<std::string> products;
  for (const auto v : network.products()) products.push_back(network.nodes()[v].name);
  out.put_strings(name + ".products", products);
  out.put_view<double>(name + ".beta", beta);
  // Kernels with the numbers that fitting gave them.
  std::vector<std::string> kernel_names;
  std::vector<double> widths, factors;
  for (const auto& each : kernel.kernels) {
    kernel_names.push_back(each.spec.name);
    widths.push_back(each.spec.width);
    factors.push_back(each.factor);
    if (each.table) {
      out.put_view<float>(table_name(name, widths.size() - 1), each.table->values,
                          {each.table->num_rows, each.table->num_columns});
    }
  }
  out.put_strings(name + ".names", kernel_names);
  out.put<double>(name + ".widths", widths);
  out.put<double>(name + ".factors", factors);
  std::vector<std::uint32_t> items;
  const auto pointers = flat_lists(kernel.paths, items);
  out.put<std::uint64_t>(name + ".paths.pointers", pointers);
  out.put<std::uint32_t>(name + ".paths.kernels", items);
  out.put_view<double>(name + ".paths.weights", kernel.weights);
}

LearnedKernel load_kernel(const TensorMap& in, const std::string& name, std::uint32_t num_columns) {
  LearnedKernel kernel;
  load_network(in, name, num_columns, kernel);
  load_kernels(in, name, num_columns, kernel);
  kernel.paths = load_lists(in, name, kernel.kernels.size());
  kernel.weights = in.get<double>(name + ".paths.weights", kernel.paths.size());
  check_not_negative(in, name + ".paths.weights", kernel.weights);
  return kernel;
}

}  // namespace margrove
