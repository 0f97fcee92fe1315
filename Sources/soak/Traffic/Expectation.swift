import Foundation

/// The allowed results of a request.
struct Expectation: Sendable, Equatable {
    /// The size of the body, if the request may succeed.
    var bodySize: Int?
    /// Whether the body is checked byte for byte.
    var isPattern = true
    var errors: Set<URLError.Code> = []

    init(_ plan: Plan, asksDelegate: Bool) {
        switch plan.target {
        case .refusing: errors = [.cannotConnectToHost]
        case .resetting: errors = [.networkConnectionLost]
        case .insecure: errors = [.secureConnectionFailed]
        case .plain, .secure, .named: expectAnswer(plan, asksDelegate: asksDelegate)
        }
        switch plan.interference {
        case .nothing, .suspend, .suspendAtOnce, .readSome, .neverResume: break
        case .cancelBeforeResume, .holdAndCancel:
            bodySize = nil
            errors = [.cancelled]
        case .cancelAtOnce, .cancel, .cancelAtResponse, .cancelAtData: errors.insert(.cancelled)
        }
    }

    private mutating func expectAnswer(_ plan: Plan, asksDelegate: Bool) {
        switch plan.answer {
        case .body(let size, _, _), .paced(let size, _, _), .informational(let size), .counted(let size),
            .ranged(let size, _, _):
            bodySize = size
        case .thenClosed(let size, _):
            bodySize = size
        // Used by other scenarios only.
        case .upload, .cookies, .cacheable: break
        case .redirect(_, let size):
            bodySize = size
            if plan.refusesRedirects, asksDelegate {
                bodySize = "elsewhere".utf8.count
                isPattern = false
            }
        case .cut: errors = [.networkConnectionLost]
        case .garbage: errors = [.cannotParseResponse]
        case .silence: errors = plan.timeout == nil ? [.cancelled] : [.timedOut]
        }
        // A request that is not idempotent is not repeated after a stale connection.
        if plan.uploadSize != nil { errors.insert(.networkConnectionLost) }
    }
}
