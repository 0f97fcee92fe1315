internal import Foundation
internal import LoadingTransport

extension NetService {
    /// The key of the code in the dictionaries of failures.
    public class var errorCode: String { "NSNetServicesErrorCode" }
    /// The key of the domain in the dictionaries of failures. The domain is 10, Core Foundation's for services.
    public class var errorDomain: String { "NSNetServicesErrorDomain" }

    /// The codes of failures.
    @frozen public enum ErrorCode: Int, Sendable {
        /// An error that has no code of its own; also a lost connection to the bus or to Avahi.
        case unknownError = -72000
        /// The name is in use.
        case collisionError = -72001
        /// There is no such service.
        case notFoundError = -72002
        /// The object is busy.
        case activityInProgress = -72003
        /// A name, type, domain, port or record is not valid.
        case badArgumentError = -72004
        /// The operation was cancelled. Not reported on Linux.
        case cancelledError = -72005
        /// The object cannot perform the operation. Not reported on Linux.
        case invalidError = -72006
        /// Nothing was found in time.
        case timeoutError = -72007
        /// Linux: libdbus, the system bus or Avahi is missing. `failureReason` says which.
        case missingRequiredConfigurationError = -72008
    }
}

extension NetService.ErrorCode {
    init(_ failure: DiscoveryFailure) {
        switch failure {
        case .libraryMissing, .busMissing, .daemonMissing: self = .missingRequiredConfigurationError
        case .connectionLost, .unexpectedReply, .refused, .noResources: self = .unknownError
        case .invalidArgument: self = .badArgumentError
        case .collision: self = .collisionError
        case .notFound: self = .notFoundError
        case .timedOut: self = .timeoutError
        }
    }

    /// The dictionary of a failure.
    var dictionary: [String: NSNumber] {
        [NetService.errorCode: NSNumber(value: rawValue), NetService.errorDomain: NSNumber(value: 10)]
    }
}
