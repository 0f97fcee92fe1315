package import LoadingSemantics
package import LoadingTransport

extension LoadError {
    /// The error of a stream task whose service was not resolved (STREAM-10). The reason is the underlying error.
    package init(_ failure: DiscoveryFailure) {
        switch failure {
        case .timedOut: self = .timedOut
        case .invalidArgument, .notFound, .collision: self = .cannotFindHost
        case .libraryMissing: self.init(code: LoadError.cannotFindHost.code, cause: .library(failure.reason))
        case .busMissing, .daemonMissing, .connectionLost, .unexpectedReply, .refused, .noResources:
            self.init(code: LoadError.cannotFindHost.code, cause: .system(failure.reason))
        }
    }
}
