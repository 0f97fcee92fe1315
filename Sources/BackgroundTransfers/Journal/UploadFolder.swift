/// The folder into which a session object of a program puts the files of new tasks, before it creates them (BG-2).
///
/// The name of a file has the number of the object. As long as that has its spool open, the service does not remove a
/// file that no task refers to yet.
package struct UploadFolder: Sendable {
    package let path: String
    private let owner: UInt64

    /// - Parameter owner: The number of the session object.
    package init(path: String, owner: UInt64) {
        self.path = path
        self.owner = owner
    }

    /// - Parameter name: A name that no other file has, perhaps with an extension.
    package func newPath(_ name: String) -> String {
        let end = name.lastIndex(of: ".") ?? name.endIndex
        return "\(path)/\(name[..<end])+\(String(owner, radix: 16))\(name[end...])"
    }

    /// The number of the session object that has made a file; nil if it has another name.
    static func owner(of name: String) -> UInt64? {
        guard let mark = name.lastIndex(of: "+") else { return nil }
        return UInt64(name[name.index(after: mark)...].prefix { $0 != "." }, radix: 16)
    }
}
