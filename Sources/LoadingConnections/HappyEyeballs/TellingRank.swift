internal import Glibc
internal import LoadingSemantics

extension LoadError {
    /// How much a failure of one attempt says about the host: one that answered beats one that was never reached,
    /// and any attempt beats a name that was not found in one family.
    var tellingRank: Int {
        switch (code, cause) {
        case (-1299 ... -1200, _): 6
        case (-1004, .posix(ECONNREFUSED)): 5
        case (-1004, .posix(EHOSTUNREACH)): 2
        case (-1004, _), (-1005, _): 4
        case (-1001, _): 3
        case (-1009, _): 1
        case (-1003, _): 0
        default: 4
        }
    }
}
