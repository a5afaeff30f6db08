#pragma once
// A share of the time of long work.

#include "margrove/control.hpp"

namespace margrove {

/// For a part of the work of `control`, which must outlive it: ends after this time, or when
/// `control` does, and reports to it.
inline RunControl time_share(RunControl& control, double seconds) {
  return {control, [&control](const Progress& progress) { return control.proceed(progress); },
          seconds};
}

}  // namespace margrove
