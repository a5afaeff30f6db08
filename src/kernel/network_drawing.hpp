#pragma once
// A network with its weights as text and pictures.

#include <span>
#include <string>
#include <vector>

#include "kernel/network.hpp"

namespace margrove {

/// A kernel with its parameters and columns, "colour: gaussian 0.5 medians on 1-3".
std::string kernel_caption(const KernelSpec& spec);

/// One line per node, indented by depth, with the weights of product nodes. The nodes below a
/// shared node are written once only. `beta` is empty or has one value per product node.
std::vector<std::string> network_lines(const SumProductNetwork& network,
                                       std::span<const double> beta);

/// Graphviz source: sums as circles, products as boxes with their weights, kernels as plain text;
/// nodes of weight 0 are grey. Labels are escaped.
std::string network_dot(const SumProductNetwork& network, std::span<const double> beta);

/// A picture (SVG) that needs no other program: layers from the root down, and edges whose width
/// grows with the product's weight.
std::string network_svg(const SumProductNetwork& network, std::span<const double> beta);

}  // namespace margrove
