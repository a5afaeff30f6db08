#include "label_sets/terminal_problem.hpp"

#include <algorithm>
#include <numeric>

namespace margrove::detail {

void TerminalProblem::clear() {
  weight.clear();
  is_terminal.clear();
  is_required.clear();
  origin.clear();
  parents.clear();
}

void TerminalProblem::add(double node_weight, bool terminal, bool required,
                          std::uint32_t node_origin) {
  weight.push_back(node_weight);
  is_terminal.push_back(terminal);
  is_required.push_back(required);
  origin.push_back(node_origin);
  parents.end_row();
}

void TerminalProblem::append_above(std::uint32_t n, NodeMarks& marks,
                                   std::vector<std::uint32_t>& nodes) const {
  marks.clear();
  std::size_t head = nodes.size();
  nodes.push_back(n);
  for (; head < nodes.size(); ++head) {
    for (const auto parent : parents[nodes[head]]) {
      if (marks.add(parent)) nodes.push_back(parent);
    }
  }
}

void TerminalProblem::mark_above(std::span<const char> keep, std::vector<char>& marks) const {
  marks.assign(size(), 0);
  for (const auto t : terminals) marks[t] = keep[t];
  for (std::uint32_t n = size(); n-- > 0;) {
    if (!marks[n]) continue;
    for (const auto parent : parents[n]) marks[parent] = 1;
  }
}

std::uint32_t TerminalProblem::find_parts(std::span<const char> keep,
                                          std::vector<std::uint32_t>& part_of) const {
  std::vector<char> is_left;
  mark_above(keep, is_left);
  part_of.resize(size());
  std::iota(part_of.begin(), part_of.end(), 0U);
  const auto root = [&](std::uint32_t n) {
    while (part_of[n] != n) n = part_of[n] = part_of[part_of[n]];
    return n;
  };
  for (std::uint32_t n = size(); n-- > 0;) {
    if (!is_left[n]) continue;
    for (const auto parent : parents[n]) {
      const std::uint32_t one = root(n), other = root(parent);
      part_of[std::max(one, other)] = std::min(one, other);
    }
  }
  std::uint32_t num_parts = 0;
  std::vector<std::uint32_t> number(size());  // of the part with this root, its lowest node
  for (std::uint32_t n = 0; n < size(); ++n) {
    if (part_of[n] == n) {
      number[n] = is_left[n] ? num_parts++ : kNoNode;
    } else {
      part_of[n] = root(n);
    }
  }
  for (auto& part : part_of) part = number[part];
  return num_parts;
}

void mark_origins(const LabelSetCore& core, std::span<const std::uint32_t> origins,
                  std::vector<char>& marks) {
  for (const auto origin : origins) {
    marks[origin] = 1;
    if (origin >= core.size()) marks[origin - core.size()] = 1;
  }
  marks[0] = 1;
  for (std::uint32_t k = core.size(); k-- > 0;) {
    if (!marks[k]) continue;
    for (const auto parent : core.parents[k]) marks[parent] = 1;
  }
}

void ProblemMaker::take_core(const LabelSetCore& core, TerminalProblem& to) {
  to.clear();
  to.offset = core.weight[0];
  to.needed = !core.grounded[0];
  number_.assign(core.size(), kNoNode);
  for (std::uint32_t k = 0; k < core.size(); ++k) {
    if (k > 0) {
      number_[k] = to.size();
      for (const auto parent : core.parents[k]) to.parents.items.push_back(number_[parent]);
      to.add(core.weight[k], core.grounded[k] != 0, false, k);
    }
    if (core.grounded[k] || core.reserve[k] == kNoReserve) continue;
    if (k > 0) to.parents.items.push_back(number_[k]);
    to.add(core.reserve[k], true, false, core.size() + k);
  }
  finish(to);
}

void ProblemMaker::restrict_to(const TerminalProblem& from, std::span<const char> keep,
                               std::uint32_t chosen, TerminalProblem& to,
                               std::vector<std::uint32_t>& taken) {
  to.clear();
  to.offset = from.offset;
  to.needed = from.needed;
  from.mark_above(keep, is_left_);
  selected_.assign(from.size(), 0);
  if (chosen != kNoNode) {
    for (std::size_t t = 0; t < from.terminals.size(); ++t) {
      if (from.terminals[t] != chosen) continue;
      for (const auto n : from.above[t]) selected_[n] = 1;
    }
    taken.push_back(from.origin[chosen]);
    to.needed = false;
  }
  number_.assign(from.size(), kNoNode);
  for (std::uint32_t n = 0; n < from.size(); ++n) {
    if (selected_[n]) to.offset += from.weight[n];
    if (selected_[n] || !is_left_[n]) continue;
    const std::size_t begin = to.parents.items.size();
    for (const auto parent : from.parents[n]) {
      if (!selected_[parent]) to.parents.items.push_back(number_[parent]);
    }
    const bool is_terminal = from.is_terminal[n] && keep[n];
    if (is_terminal && from.weight[n] > 0 && to.parents.items.size() == begin) {
      selected_[n] = 1;  // a terminal worth > 0 with nothing above it
      to.offset += from.weight[n];
      to.needed = false;
      taken.push_back(from.origin[n]);
      continue;
    }
    number_[n] = to.size();
    to.add(from.weight[n], is_terminal, from.is_required[n] != 0, from.origin[n]);
  }
  finish(to);
}

void ProblemMaker::finish(TerminalProblem& p) {
  p.terminals.clear();
  p.above.clear();
  marks_.reset(p.size());
  for (std::uint32_t n = 0; n < p.size(); ++n) {
    if (!p.is_terminal[n]) continue;
    p.terminals.push_back(n);
    p.append_above(n, marks_, p.above.items);
    p.above.end_row();
  }
}

}  // namespace margrove::detail
