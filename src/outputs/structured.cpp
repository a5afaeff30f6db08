#include "outputs/structured.hpp"

#include <cmath>

#include "base/out_of_time.hpp"

namespace margrove {

FitReport to_report(const StructuredFit& fit, std::vector<std::string> warnings) {
  FitReport report;
  report.warnings = std::move(warnings);
  report.stop = fit.stop;
  report.passes = fit.passes;
  report.primal = fit.primal;
  report.dual = fit.dual;
  report.relative_gap = fit.relative_gap;
  if (std::isfinite(fit.relative_gap) && !fit.certified) {
    report.warnings.emplace_back(
        is_cut_short(fit.stop)
            ? "training ended before all searches for the most violating labelling were made, so "
              "the gap may be larger than reported"
            : "not every search for the most violating labelling was exact, so the gap may be "
              "larger than reported");
  }
  return report;
}

double solver_row_bytes(const CsrView& X) {
  return 8.0 * static_cast<double>(X.num_nonzeros()) + 48.0 * static_cast<double>(X.num_rows());
}

}  // namespace margrove
