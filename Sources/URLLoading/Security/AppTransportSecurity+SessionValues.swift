internal import Foundation
internal import LoadingEvents
internal import LoadingSemantics

extension AppTransportSecurity {
    /// The App Transport Security policy of a session: that of its configuration, otherwise that of the program's
    /// `Info.plist`. Nil if neither requires anything (TLS-3).
    init?(_ session: SessionValues) {
        self =
            session.appTransportSecurity.map { AppTransportSecurity(PropertyListValue.values(of: $0)) }
            ?? Self.ofProgram
        if !isOn { return nil }
        Self.reporter.report(issues)
    }

    private static let reporter = IssueReporter()

    /// Reports each issue once per process: to standard error, or to the program's `eventHandler`.
    private final class IssueReporter: @unchecked Sendable {
        // Sendable because `messages` is guarded by `lock`.
        private let lock = Lock()
        private var messages: Set<String> = []

        private static let maximumCount = 100

        func report(_ issues: [TransportSecurityIssue]) {
            for issue in issues {
                let text = "NSAppTransportSecurity: \(issue.description)"
                let isNew = lock.withLock { messages.count < Self.maximumCount && messages.insert(text).inserted }
                if isNew { StandardError.report(text) }
            }
        }
    }

    /// The settings of the `Info.plist` beside the executable. Read when the first session is created.
    private static let ofProgram: AppTransportSecurity = {
        let key = "NSAppTransportSecurity"
        guard let settings = Program.information?[key] else { return .off }
        return AppTransportSecurity(info: [key: PropertyListValue(settings)])
    }()
}
