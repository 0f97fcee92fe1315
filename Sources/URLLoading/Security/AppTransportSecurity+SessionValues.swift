internal import Foundation
internal import LoadingEvents
internal import LoadingSemantics

extension AppTransportSecurity {
    /// What a session asks of its connections: what its configuration says, else what the program says. Nil if nothing
    /// is asked (TLS-3).
    init?(_ session: SessionValues) {
        self =
            session.appTransportSecurity.map { AppTransportSecurity(PropertyListValue.values(of: $0)) }
            ?? Self.ofProgram
        if !isOn { return nil }
        Self.told.tell(issues)
    }

    private static let told = Told()

    /// What was said already: each thing once, however many sessions are made.
    private final class Told: @unchecked Sendable {
        // Sendable because `messages` is guarded by `lock`.
        private let lock = Lock()
        private var messages: Set<String> = []

        /// So many different ones are told at most.
        private static let most = 100

        func tell(_ issues: [TransportSecurityIssue]) {
            for issue in issues {
                let text = "NSAppTransportSecurity: \(issue.description)"
                let isNew = lock.withLock { messages.count < Self.most && messages.insert(text).inserted }
                if isNew { StandardError.write(text) }
            }
        }
    }

    /// What `Info.plist` says, which stands beside the executable. Read when the first session is made.
    private static let ofProgram: AppTransportSecurity = {
        let key = "NSAppTransportSecurity"
        guard let settings = Program.information?[key] else { return .off }
        return AppTransportSecurity(info: [key: PropertyListValue(settings)])
    }()
}
