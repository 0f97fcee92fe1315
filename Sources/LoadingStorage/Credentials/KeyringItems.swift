internal import CLoadingSecretService

/// The result of a search in a keyring.
final class KeyringItems {
    struct Item {
        var index: Int
        var modified: UInt64
        var isLocked: Bool
        /// Nil if the item is locked, or not a credential.
        var credential: PersistentCredential?
    }

    private let items: OpaquePointer
    let all: [Item]
    /// Whether an unlocked item has no secret.
    let hasWithoutSecret: Bool

    init(_ items: OpaquePointer) {
        self.items = items
        var all: [Item] = []
        var hasWithoutSecret = false
        for index in 0..<cls_count(items) {
            let item = cls_item_at(items, index)
            var new = Item(index: index, modified: item.modified, isLocked: item.is_locked)
            if let secret = item.secret {
                let bytes = UnsafeBufferPointer(start: secret, count: item.secret_count)
                new.credential = String(validating: bytes, as: UTF8.self).flatMap { password in
                    KeyringAttributes.credential(password: password) { name in
                        cls_attribute_at(items, index, name).map { String(cString: $0) }
                    }
                }
            } else if !item.is_locked {
                hasWithoutSecret = true
            }
            all.append(new)
        }
        self.all = all
        self.hasWithoutSecret = hasWithoutSecret
    }

    deinit { cls_end_items(items) }

    var hasLocked: Bool { all.contains { $0.isLocked } }

    func unlock(in keyring: OpaquePointer) -> cls_outcome { cls_unlock(keyring, items) }

    func delete(_ item: Item, from keyring: OpaquePointer) throws(KeyringFailure) {
        guard cls_delete(keyring, items, item.index) == CLS_DONE else { throw .failed }
    }
}
