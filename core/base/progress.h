#pragma once

#include <cstdint>
#include <string>

namespace lpes {

/// Where a long job stands. done/total count the unit that `stage` names; total 0 means unknown.
struct Progress {
    std::string stage;  ///< what is being done now, in words ("generation 3 of 6")
    std::int64_t done = 0;
    std::int64_t total = 0;
    double ratePerSecond = 0.0;  ///< units per second, 0 while unknown
    double etaSeconds = -1.0;    ///< seconds to the end, negative while unknown
};

/// Told how a job comes along. Called on the job's own threads, at most about 30 times a second; an implementation
/// must be **thread-safe** and quick.
class ProgressObserver {
  public:
    virtual ~ProgressObserver() = default;
    virtual void progressed(const Progress& progress) = 0;
    /// Something that the user should read and that does not end the job.
    virtual void warned(const std::string& message) = 0;
};

/// Listens to nothing.
class NullObserver final : public ProgressObserver {
  public:
    void progressed(const Progress&) override {}
    void warned(const std::string&) override {}
};

}  // namespace lpes
