internal import Foundation
internal import LoadingSemantics

extension AppTransportSecurity {
    /// What a session asks of its connections: what its configuration says, else what the program says. Nil if nothing
    /// is asked (TLS-3).
    init?(_ session: SessionValues) {
        self =
            session.appTransportSecurity.map { AppTransportSecurity(PropertyListValue.values(of: $0)) }
            ?? Self.ofProgram
        if !isOn { return nil }
    }

    /// What `Info.plist` says, which stands beside the executable. Read when the first session is made.
    private static let ofProgram: AppTransportSecurity = {
        let key = "NSAppTransportSecurity"
        guard let settings = Program.information?[key] else { return .off }
        return AppTransportSecurity(info: [key: PropertyListValue(settings)])
    }()
}
