import LoadingStorage

extension PersistentCredential {
    static func of(
        _ host: String, _ user: String, _ password: String, realm: String? = "r", isDefault: Bool = false
    ) -> PersistentCredential {
        PersistentCredential(
            space: Space(
                host: host, port: 443, protocolName: "https", realm: realm, authenticationMethod: "Basic"),
            user: user, password: password, isDefault: isDefault)
    }
}
