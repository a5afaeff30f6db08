#pragma once
// Training in shards on a cluster of Ray, which the Python package starts.

#include <cstddef>
#include <string>

#include "cli/training.hpp"
#include "io/shards.hpp"

namespace margrove::cli {

inline constexpr std::size_t kDefaultShards = 16;

/// Reads the data that the arguments name, and plan_shards(). Throws InvalidOption for a time
/// limit, under which the bits of a model depend on the machines.
void plan_rows_in_shards(TrainingArguments& arguments, MethodRun& run, std::size_t num_shards,
                         const std::string& folder, Executor& executor, CommandControl& control);

/// Options of `train --engine ray`.
struct RayOptions {
  std::string address;  // of the cluster; empty: a new one on this machine
  int threads = 0;      // of each task; 0: the package decides
  bool quiet = false;
};
/// Throws InvalidInput unless python3 can import the package and Ray.
void require_ray();
/// Runs `python3 -m margrove.ray FOLDER`, which trains the shards that are not finished. Throws
/// InvalidInput unless it succeeds.
void train_shards_on_ray(const std::string& folder, const RayOptions& options);

}  // namespace margrove::cli
