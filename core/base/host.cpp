#include "core/base/host.h"

#include <unistd.h>

namespace lpes {

std::string hostName() {
    char name[256] = {};
    if (::gethostname(name, sizeof name - 1) != 0) return "unknown";
    return name;
}

}  // namespace lpes
